import { fileURLToPath } from 'node:url';
import type { DataConverter } from '@temporalio/common';
import { fromBefore, refusal, withoutFiring } from '../../workflows/bound-inputs.ts';
import type { KeyRing } from '../config/key-ring.ts';
import { createPayloadCodec, type PayloadContext } from '../core/crypto/payload-codec.ts';

/** The bundle of the workflows needs it too: failures are made in there. */
export const failureConverterPath = fileURLToPath(new URL('../../workflows/failure-converter.ts', import.meta.url));

/** The interceptors of every workflow, which the bundle contains. */
export const sealedInputsPath = fileURLToPath(new URL('../../workflows/sealed-inputs.ts', import.meta.url));

/**
 * A schedule seals the input of workflows whose ids get the time of their firing later. Activities have the whole id: a result
 * or a failure of one firing is none of another.
 */
const placeOf = (context: PayloadContext): string =>
  context.type === 'workflow'
    ? `workflow ${withoutFiring(context.workflowId)}`
    : `activity ${context.activityId ?? ''} of ${context.workflowId ?? ''}`;

/** The data converter of every client: Temporal stores readable text only where operators need it. */
export const createDataConverter = (ring: KeyRing): DataConverter => ({
  payloadCodecs: [createPayloadCodec(ring, { placeOf })],
  failureConverterPath,
});

/** The data converter of every worker: it refuses what was not sealed for the workflow or activity that gets it. */
export const createWorkerConverter = (ring: KeyRing): DataConverter => ({
  payloadCodecs: [createPayloadCodec(ring, { placeOf, refusal, fromBefore })],
  failureConverterPath,
});

import { fileURLToPath } from 'node:url';
import type { DataConverter } from '@temporalio/common';
import { fromBefore, refusal, withoutFiring } from '../../workflows/bound-inputs.ts';
import type { KeyRing } from '../config/key-ring.ts';
import { createPayloadCodec, type PayloadContext } from '../core/crypto/payload-codec.ts';

/** The workflow bundle needs it too, because workflows make failures. */
export const failureConverterPath = fileURLToPath(new URL('../../workflows/failure-converter.ts', import.meta.url));

export const sealedInputsPath = fileURLToPath(new URL('../../workflows/sealed-inputs.ts', import.meta.url));

/**
 * A schedule seals inputs before the workflow id gets the time of its firing. Activities have the whole id, so a result or
 * failure belongs to one firing only.
 */
const placeOf = (context: PayloadContext): string =>
  context.type === 'workflow'
    ? `workflow ${withoutFiring(context.workflowId)}`
    : `activity ${context.activityId ?? ''} of ${context.workflowId ?? ''}`;

/** For clients: Temporal stores readable text only where operators need it. */
export const createDataConverter = (ring: KeyRing): DataConverter => ({
  payloadCodecs: [createPayloadCodec(ring, { placeOf })],
  failureConverterPath,
});

/** For workers: also refuses inputs that were not sealed for their workflow or activity. */
export const createWorkerConverter = (ring: KeyRing): DataConverter => ({
  payloadCodecs: [createPayloadCodec(ring, { placeOf, refusal, fromBefore })],
  failureConverterPath,
});

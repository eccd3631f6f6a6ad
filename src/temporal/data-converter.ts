import { fileURLToPath } from 'node:url';
import type { DataConverter } from '@temporalio/common';
import type { KeyRing } from '../config/key-ring.ts';
import { createPayloadCodec } from '../core/crypto/payload-codec.ts';

/** The bundle of the workflows needs it too: failures are made in there. */
export const failureConverterPath = fileURLToPath(new URL('../../workflows/failure-converter.ts', import.meta.url));

/** The data converter of every client and worker: Temporal stores readable text only where operators need it. */
export const createDataConverter = (ring: KeyRing): DataConverter => ({
  payloadCodecs: [createPayloadCodec(ring)],
  failureConverterPath,
});

import { DefaultFailureConverter } from '@temporalio/common';

/** Found by name in this file, by workers, clients and the bundle: messages and stacks are payloads, which are encrypted. */
export const failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });

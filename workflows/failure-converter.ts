import { DefaultFailureConverter } from '@temporalio/common';

/**
 * Workers, clients and the bundle of workflows find it by its name in this file. It makes messages and stacks part of a
 * payload, and payloads are encrypted.
 */
export const failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });

/**
 * The workflows that a worker runs. They hold the order of steps and nothing else: no input or output, no clock but
 * Temporal's, and of other rooms they import types only. A change must replay the saved histories (test/workflows).
 */

export { inboundHook } from './inbound-hook.ts';
export { scheduledRun } from './scheduled-run.ts';
export { scheduledTick } from './scheduled-tick.ts';
export { syncRun } from './sync-run.ts';
export { webhookEndpoint } from './webhook-endpoint.ts';

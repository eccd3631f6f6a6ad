/**
 * The workflows that a worker runs: the order of steps only, without I/O, a clock but Temporal's, or imports from other rooms
 * but types. A change must replay the saved histories (test/workflows).
 */

export { inboundHook } from './inbound-hook.ts';
export { scheduledRun } from './scheduled-run.ts';
export { scheduledTick } from './scheduled-tick.ts';
export { syncRun } from './sync-run.ts';
export { webhookEndpoint } from './webhook-endpoint.ts';

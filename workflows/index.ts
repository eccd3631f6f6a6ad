export { inboundHook } from './inbound-hook.ts';
export { scheduledTick } from './scheduled-tick.ts';
export { syncRun } from './sync-run.ts';
export { webhookEndpoint } from './webhook-endpoint.ts';

export { scheduledTick } from './scheduled-tick.ts';
export { syncRun } from './sync-run.ts';

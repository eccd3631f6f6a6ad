export { syncRun } from './sync-run.ts';

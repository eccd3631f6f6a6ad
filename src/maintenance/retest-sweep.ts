import { takeDueRetests } from '../../db/queries/connections/retests.ts';
import { type RetestDeps, retestConnection } from '../control/connections/retest.ts';
import { type AtOnceSweep, createAtOnceSweep } from './at-once.ts';

export const createRetestSweep = (deps: RetestDeps): AtOnceSweep =>
  createAtOnceSweep(deps, {
    max: 8,
    maxEach: 2,
    take: (room) => takeDueRetests(deps.db, room),
    connectionOf: ({ id }) => id,
    work: (due) => retestConnection(deps, due),
    failed: 'connection in error not tested to the end',
  });

import { takeUnusedTokens } from '../../db/queries/connections/tokens.ts';
import { type KeepAliveDeps, keepTokenAlive } from '../control/oauth/keep-alive.ts';
import { type AtOnceSweep, createAtOnceSweep } from './at-once.ts';

/** Refreshes tokens that no run has used for as long as their spec allows. */
export const createKeepAliveSweep = (deps: KeepAliveDeps): AtOnceSweep =>
  createAtOnceSweep(deps, {
    max: 8,
    maxEach: 2,
    take: (room) => takeUnusedTokens(deps.db, room),
    connectionOf: ({ connectionId }) => connectionId,
    work: (due) => keepTokenAlive(deps, due),
    failed: 'unused token not refreshed; tried again in an hour',
  });

/** Stands in for `src/connect/open-source.ts`: the client is that of the simulated API. */
import type * as real from '../../../src/connect/open-source.ts';
import { decodeAtOnce } from '../../../src/core/source/decode/decode-turns.ts';
import { currentApi, currentEvaluator } from '../current.ts';

export const openSource: typeof real.openSource = async (_deps, _scope, options) => {
  const { runId, setup, resource, startedAt, backfill } = options;
  const { spec, specChecksum, params, secrets } = setup;
  return {
    resource,
    http: spec.http,
    auth: spec.auth,
    specChecksum,
    params,
    secrets,
    lookups: {},
    each: {},
    run: { id: runId, startedAt: startedAt.toISOString(), mode: backfill === null ? 'incremental' : 'backfill' },
    backfill,
    validators: null,
    responses: null,
    decodeTurns: decodeAtOnce,
    client: currentApi().client,
    tokens: null,
    mask: () => {},
    evaluator: currentEvaluator(),
    now: () => new Date(),
  };
};

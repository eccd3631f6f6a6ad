import { describe, expect, it } from 'vitest';
import { jsonLimits } from '../../src/core/json/json-limits.ts';
import { useSharedService } from '../support/service/use-shared-service.ts';
import { openAccount } from '../support/sync/account.ts';
import { createScriptedApi } from '../support/upstream/scripted-api.ts';

const api = createScriptedApi();
const shared = useSharedService({ reply: api.reply });

const deep = (levels: number): unknown => (levels === 0 ? 1 : { in: deep(levels - 1) });

describe('one poisoned record', () => {
  it.each([
    ['with a NUL character', { id: 9, name: 'a\0b' }, 'record', '9'],
    ['with half a surrogate pair', { id: 9, name: '\ud800' }, 'record', '9'],
    ['with too many values', { id: 9, name: Array(jsonLimits.nodesMax).fill(0) }, 'record', '9'],
    ['that is nested too deep', { id: 9, name: deep(jsonLimits.depthMax) }, 'record', '9'],
    ['that fails the transform', { id: 9, name: 7 }, 'transform', '9'],
    ['that fails the schema', { id: 9, name: 'too long' }, 'maxLength', '9'],
    ['without a key', { name: 'a' }, 'primaryKey', expect.stringContaining('sha256:')],
    ['that is no object', 'text', 'primaryKey', expect.stringContaining('sha256:')],
    ['that the table cannot hold', { id: 9, name: 'a', count: 'many' }, 'destination', '9'],
  ])('%s costs itself only, once', async (_what, poison, keyword, externalId) => {
    const { stack, upstream } = shared();
    const key = `poisoned_${(poisons += 1)}`;
    api.serve(key, () => ({ body: [{ id: 1, name: 'a', count: 1 }, poison, { id: 2, name: 'b', count: 2 }] }));
    const resource = {
      key,
      transform: '{ "id": id, "name": $uppercase(name), "count": count }',
      validate: { schema: { properties: { name: { type: 'string', maxLength: 3 } } } },
      onInvalid: 'quarantine',
      target: { columns: { count: { type: 'integer' } } },
    };
    await using of = await openAccount(stack, {
      key: key.replace('_', '-'),
      baseUrl: upstream.url,
      resources: [resource],
    });
    const stats = { recordsIn: 3, recordsOut: 2, skipped: 0, deleted: 0, quarantined: 1 };
    expect(await of.sync(key)).toMatchObject({ status: 'partial', error: null, statsJson: stats });
    expect(await of.rows(key)).toMatchObject([
      { id: '1', name: 'A' },
      { id: '2', name: 'B' },
    ]);
    expect(await of.quarantine()).toMatchObject([{ externalId, resolvedAt: null, validationErrors: [{ keyword }] }]);

    const again = { recordsIn: 3, recordsOut: 0, skipped: 3, deleted: 0, quarantined: 0 };
    expect(await of.sync(key)).toMatchObject({ status: 'succeeded', statsJson: again });
    expect(await of.quarantine()).toHaveLength(1);
  });
});

let poisons = 0;

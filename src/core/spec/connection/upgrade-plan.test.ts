import { describe, expect, it } from 'vitest';
import { specDocument } from '../../../../test/support/upstream/api-fixtures.ts';
import { checkSpec } from '../check/check.ts';
import type { ConnectorSpec } from '../schema/spec-schema.ts';
import { planUpgrade } from './upgrade-plan.ts';

const incremental = {
  kind: 'cursor',
  cursor: { field: 'updated_at', type: 'datetime' },
  order: 'asc',
};

const [item] = specDocument().resources;
const specOf = (resource: object, changes: object = {}, below: readonly object[] = []): ConnectorSpec => {
  const checked = checkSpec({ ...specDocument(), ...changes, resources: [{ ...item, ...resource }, ...below] });
  if (!checked.valid) throw new Error(JSON.stringify(checked.issues));
  return checked.spec;
};
const planOf = (before: object, after: object, changes: object = {}) =>
  planUpgrade({ before: specOf(before), after: specOf(after, changes), issues: [] });

describe('the plan of an upgrade', () => {
  it('of the same spec in other words says that nothing happens', () => {
    const reordered = { ...Object.fromEntries(Object.entries(item ?? {}).toReversed()), primaryKey: 'id' };
    expect(planOf({}, reordered, { metadata: { key: 'acme', name: 'Renamed', version: '9.0.0' } })).toEqual({
      class: 'compatible',
      changed: [],
      backfillRecommended: false,
      issues: [],
      resources: [
        {
          resourceKey: 'items',
          class: 'compatible',
          changed: [],
          resets: 'nothing',
          redelivers: 'nothing',
          backfillRecommended: false,
          rekeyedTable: null,
          effect: 'Nothing is read or delivered again.',
        },
      ],
    });
  });

  it.each<[string, object]>([
    ['transform', { transform: '{ "id": id }' }],
    ['response', { response: { records: 'data', map: '$' } }],
    ['validate', { validate: { schema: { type: 'object', required: ['id'] } } }],
    ['target', { target: { table: 'items', columns: { name: { type: 'text' } } } }],
    ['changeDetection', { changeDetection: { ignore: ['etag'] } }],
  ])('recommends a backfill of an incremental resource whose %s changes', (field, change) => {
    expect(planOf({ incremental }, { incremental, ...change }).resources).toMatchObject([
      { class: 'compatible', changed: [field], resets: 'nothing', redelivers: 'fetched', backfillRecommended: true },
    ]);
  });

  it('of a read that may use smaller pages says that nothing is read again', () => {
    const request = { path: '/items', query: { limit: '{{ page.size }}' } };
    const pagination = { kind: 'offset', size: 100, inject: { in: 'query', name: 'offset' } };
    const shrink = { when: { status: [500] } };
    const before = { incremental, request, pagination };
    expect(planOf(before, { ...before, pagination: { ...pagination, shrink } }).resources).toMatchObject([
      { class: 'compatible', changed: ['pagination'], resets: 'nothing', redelivers: 'nothing' },
    ]);
  });

  it('recommends a backfill when other fields are requested', () => {
    const request = { path: '/items', query: { fields: '{{ chunk.fields }}' } };
    const before = { incremental, request, fieldChunks: { fields: ['a'], size: 1 } };
    expect(planOf(before, { ...before, fieldChunks: { fields: ['a', 'b'], size: 1 } }).resources).toMatchObject([
      { class: 'compatible', changed: ['fieldChunks'], resets: 'nothing', backfillRecommended: true },
    ]);
  });

  it('recommends one for a filter, too, which delivers nothing again', () => {
    expect(planOf({ incremental }, { incremental, filter: 'active' })).toMatchObject({
      backfillRecommended: true,
      resources: [
        {
          class: 'compatible',
          changed: ['filter'],
          redelivers: 'nothing',
          effect: 'Other records than before may be read; a backfill fetches those that earlier runs did not.',
        },
      ],
    });
  });

  it('says of other partitions that new ones are read from their beginning', () => {
    const forEach = [{ as: 'region', values: '{{ ["eu"] }}' }];
    expect(planOf({ incremental }, { incremental, forEach }).resources).toMatchObject([
      { changed: ['forEach'], effect: expect.stringContaining('A partition that is new is read from its beginning.') },
    ]);
  });

  it('recommends one for an incremental resource of which a new one below it needs other fields', () => {
    const child = (field: string) => ({
      ...item,
      key: 'parts',
      target: { table: 'parts' },
      forEach: [{ as: 'item', resource: 'items', from: 'store', select: 'changed' }],
      request: { path: `/items/{{ each.item.${field} }}/parts` },
    });
    const withChild = (field: string) => specOf({ incremental }, {}, [child(field)]);
    const above = { resourceKey: 'items', redelivers: 'fetched', backfillRecommended: true };
    const added = planUpgrade({ before: specOf({ incremental }), after: withChild('id'), issues: [] });
    expect(added.resources).toMatchObject([above, { resourceKey: 'parts', backfillRecommended: false }]);
    const changed = planUpgrade({ before: withChild('id'), after: withChild('slug'), issues: [] });
    expect(changed.resources).toMatchObject([above, { resourceKey: 'parts', backfillRecommended: true }]);
  });

  it('needs no backfill where every run reads everything', () => {
    expect(planOf({}, { transform: '{ "id": id }' }).resources).toMatchObject([
      { class: 'compatible', redelivers: 'everything', backfillRecommended: false },
    ]);
  });

  it.each<[string, object]>([
    ['another field', { ...incremental, cursor: { field: 'created_at', type: 'datetime' } }],
    ['another type', { ...incremental, cursor: { field: 'updated_at', type: 'epoch_s' } }],
    ['another time zone', { ...incremental, cursor: { ...incremental.cursor, timezone: 'Europe/Berlin' } }],
    ['a token', { kind: 'token', next: 'body.next' }],
  ])('resets the watermark when the cursor becomes %s', (_what, changed) => {
    expect(planOf({ incremental }, { incremental: changed })).toMatchObject({
      class: 'resets',
      backfillRecommended: false,
      resources: [{ class: 'resets', resets: 'watermark', redelivers: 'nothing', rekeyedTable: null }],
    });
  });

  it('keeps the watermark when only the way of reading by it changes', () => {
    const changed = {
      ...incremental,
      lookback: 'PT1H',
      order: 'none',
      cursor: { ...incremental.cursor, sendAs: 'epoch_s' },
    };
    expect(planOf({ incremental }, { incremental: changed }).resources).toMatchObject([
      { class: 'compatible', resets: 'nothing', backfillRecommended: false },
    ]);
  });

  it('delivers everything again when cursor and form change together', () => {
    const created = { ...incremental, cursor: { field: 'created_at', type: 'datetime' } };
    expect(planOf({ incremental }, { incremental: created, transform: '{ "id": id }' }).resources).toMatchObject([
      { resets: 'watermark', redelivers: 'everything' },
    ]);
  });

  it('clears the state when the primary key changes, and names the table', () => {
    expect(planOf({ incremental }, { incremental, primaryKey: ['id', 'site'] }).resources).toMatchObject([
      { class: 'resets', resets: 'state', redelivers: 'everything', rekeyedTable: 'items', backfillRecommended: false },
    ]);
  });

  it('tells new resources from removed ones', () => {
    const plan = planOf({}, { key: 'orders' });
    expect(plan).toMatchObject({ class: 'breaking', issues: [] });
    expect(plan.resources.map((resource) => [resource.resourceKey, resource.class])).toEqual([
      ['orders', 'compatible'],
      ['items', 'breaking'],
    ]);
  });

  it('is refused when the kind of auth changes', () => {
    expect(planOf({}, {}, { auth: { kind: 'bearer', token: '{{ secrets.apiKey }}' } })).toMatchObject({
      class: 'breaking',
      changed: ['auth'],
      issues: [{ path: 'auth.kind', message: 'changes from none to bearer: create a new connection' }],
    });
  });

  it('is refused for what was found elsewhere, also without a spec to compare', () => {
    const issue = { code: 'schema', path: 'params.x', message: 'is required' } as const;
    expect(planUpgrade({ before: specOf({}), after: null, issues: [issue] })).toEqual({
      class: 'breaking',
      changed: [],
      resources: [],
      backfillRecommended: false,
      issues: [issue],
    });
  });

  it('starts over everywhere when the spec until now is not valid any more', () => {
    expect(planUpgrade({ before: null, after: specOf({}), issues: [] })).toMatchObject({
      class: 'resets',
      resources: [{ resourceKey: 'items', resets: 'state', redelivers: 'everything' }],
    });
  });
});

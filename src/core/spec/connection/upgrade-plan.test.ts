import { describe, expect, it } from 'vitest';
import { specDocument } from '../../../../test/support/upstream/api-fixtures.ts';
import type { JsonObject } from '../../json/json-object.ts';
import { checkSpec } from '../check/check.ts';
import type { ConnectorSpec } from '../schema/spec-schema.ts';
import { meaningOf, noMeaning } from './meaning.ts';
import { planUpgrade, type SpecInUse } from './upgrade-plan.ts';

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
const inUse = (spec: ConnectorSpec, params: JsonObject = {}): SpecInUse => ({ spec, params });
const planOf = (before: object, after: object, changes: object = {}) =>
  planUpgrade({ before: inUse(specOf(before)), after: inUse(specOf(after, changes)), issues: [] });

function specResource({ spec }: SpecInUse) {
  const [resource] = spec.resources;
  if (!resource) throw new Error('The spec has no resource');
  return resource;
}

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
          mayDelete: false,
          backfillRecommended: false,
          rekeyedTable: null,
          effect: 'Nothing is read or delivered again.',
        },
      ],
    });
  });

  it.each<[string, object]>([
    ['transform', { transform: '{ "id": id }' }],
    ['response', { response: { records: 'data', addFields: { source: '"acme"' } } }],
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

  it.each<[string, object, object]>([
    [
      'other fields are requested',
      { request: { path: '/items', query: { fields: '{{ chunk.fields }}' } }, fieldChunks: { fields: ['a'], size: 1 } },
      { fieldChunks: { fields: ['a', 'b'], size: 1 } },
    ],
    ['the filter differs', {}, { filter: 'active' }],
    ['the request differs', {}, { request: { path: '/items', query: { area: 'eu' } } }],
    ['the first run would begin elsewhere', {}, { incremental: { ...incremental, initial: '2020-01-01' } }],
    ['partitions differ', {}, { forEach: [{ as: 'region', values: '{{ ["eu"] }}' }] }],
    ['pages follow that were not requested', {}, { pagination: { kind: 'link_header' } }],
    ['invalid records are no longer skipped', { onInvalid: 'skip' }, { onInvalid: 'quarantine' }],
  ])('reads from the start where %s', (_what, before, change) => {
    const plan = planOf({ incremental, ...before }, { incremental, ...before, ...change });
    expect(plan).toMatchObject({ class: 'resets', backfillRecommended: false });
    expect(plan.resources).toMatchObject([
      {
        resets: 'watermark',
        redelivers: 'nothing',
        mayDelete: false,
        effect:
          'Other records than before may be read: the next run reads from the start and delivers only the records that differ.',
      },
    ]);
  });

  it('reads from the start where deleted records are marked, and deletes those that are gone already', () => {
    const plan = planOf({ incremental }, { incremental, deletes: { mode: 'flag', when: 'archived' } });
    expect(plan.resources).toMatchObject([
      { resets: 'watermark', mayDelete: true, effect: expect.stringContaining('deletes those at the destination') },
    ]);
  });

  it('reads parents from the start where a resource below them needs other fields', () => {
    const child = (field: string) => ({
      ...item,
      key: 'parts',
      target: { table: 'parts' },
      forEach: [{ as: 'item', resource: 'items', from: 'store', select: 'changed' }],
      request: { path: `/items/{{ each.item.${field} }}/parts` },
    });
    const withChild = (field: string) => inUse(specOf({ incremental }, {}, [child(field)]));
    const without = inUse(specOf({ incremental }));
    const above = { resourceKey: 'items', resets: 'watermark', redelivers: 'everything' };
    const added = planUpgrade({
      before: without,
      after: withChild('id'),
      issues: [],
      stored: new Map([['items', meaningOf(without.spec, specResource(without), {})]]),
    });
    expect(added.resources).toMatchObject([above, { resourceKey: 'parts', effect: expect.stringContaining('New') }]);
    const changed = planUpgrade({ before: withChild('id'), after: withChild('slug'), issues: [] });
    expect(changed.resources).toMatchObject([above, { resourceKey: 'parts', resets: 'watermark' }]);
    const removed = planUpgrade({ before: withChild('id'), after: without, issues: [] });
    expect(removed.resources).toMatchObject([{ resourceKey: 'items', resets: 'nothing' }, { class: 'breaking' }]);
  });

  it('asks for consent where other records are read and what is not found is deleted', () => {
    const deletes = { mode: 'full_scan' };
    const request = { path: '/items', query: { area: '{{ params.area }}' } };
    const spec = specOf({ deletes, request }, { connectionParams: [{ key: 'area', type: 'string' }] });
    const plan = (before: string, after: string) =>
      planUpgrade({ before: inUse(spec, { area: before }), after: inUse(spec, { area: after }), issues: [] });
    expect(plan('eu', 'eu').resources).toMatchObject([{ mayDelete: false }]);
    expect(plan('eu', 'us').resources).toMatchObject([
      { mayDelete: true, class: 'compatible', effect: expect.stringContaining('deletes those at the destination') },
    ]);
  });

  it.each<[string, object]>([
    ['flag', { mode: 'flag', when: 'gone' }],
    ['endpoint', { mode: 'endpoint', request: { path: '/deleted' }, key: 'id' }],
  ])('may delete what leaves another filter, or a filter by another param: %s', (_mode, deletes) => {
    const other = { filter: 'open' };
    const unread = { incremental, deletes, transform: '{ "id": id }' };
    expect(planOf({ incremental, deletes }, { incremental, deletes, ...other })).toMatchObject({
      resources: [{ mayDelete: true, effect: expect.stringContaining('deletes those at the destination') }],
    });
    expect(planOf({ incremental, deletes, ...other }, { ...unread, ...other }).resources[0]?.mayDelete).toBe(false);
    expect(planOf({ incremental, ...other }, { incremental, filter: 'live' }).resources[0]?.mayDelete).toBe(false);
    const spec = specOf(
      { incremental, deletes, response: { records: 'data', addFields: { at: 'params.area' } }, filter: 'at = area' },
      { connectionParams: [{ key: 'area', type: 'string' }] },
    );
    const plan = (before: string, after: string) =>
      planUpgrade({ before: inUse(spec, { area: before }), after: inUse(spec, { area: after }), issues: [] });
    expect(plan('eu', 'us').resources).toMatchObject([{ mayDelete: true }]);
    expect(plan('eu', 'eu').resources).toMatchObject([{ mayDelete: false }]);
  });

  it('compares a resource that is added again with what was stored when it was removed', () => {
    const [before, after] = [inUse(specOf({ key: 'others' })), inUse(specOf({ incremental }))];
    const stored = (meaning: object) => new Map([['items', meaning]]);
    const planned = (meaning: object) =>
      planUpgrade({ before, after, issues: [], stored: stored(meaning) }).resources[0];
    const today = meaningOf(after.spec, specResource(after), {});
    expect(planned(today)).toMatchObject({ resets: 'nothing', effect: 'Nothing is read or delivered again.' });
    expect(planned({ ...today, cursor: 'other' })).toMatchObject({ resets: 'watermark' });
    expect(planned(noMeaning)).toMatchObject({ resets: 'state', redelivers: 'everything' });
  });

  it('delivers records again where a table of the spec or a param that shapes them differs', () => {
    const shaped = (country: string) =>
      specOf(
        { transform: "{ 'id': id, 'at': $lookups.countries.de, 'in': $params.currency }" },
        {
          connectionParams: [{ key: 'currency', type: 'string' }],
          lookups: [{ kind: 'static', assignTo: 'countries', table: { de: country } }],
        },
      );
    const plan = (before: SpecInUse, after: SpecInUse) =>
      planUpgrade({ before, after, issues: [] }).resources[0]?.redelivers;
    const wrong = inUse(shaped('Germny'), { currency: 'EUR' });
    expect(plan(wrong, inUse(shaped('Germny'), { currency: 'EUR' }))).toBe('nothing');
    expect(plan(wrong, inUse(shaped('Germany'), { currency: 'EUR' }))).toBe('everything');
    expect(plan(wrong, inUse(shaped('Germny'), { currency: 'USD' }))).toBe('everything');
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
    ['another format', { ...incremental, cursor: { ...incremental.cursor, format: '%d/%m/%Y' } }],
    ['a token', { kind: 'token', next: 'body.next' }],
  ])('resets the watermark when the cursor becomes %s', (_what, changed) => {
    expect(planOf({ incremental }, { incremental: changed })).toMatchObject({
      class: 'resets',
      backfillRecommended: false,
      resources: [{ class: 'resets', resets: 'watermark', redelivers: 'nothing', rekeyedTable: null }],
    });
  });

  it('resets the watermark when what the cursor is read from is made otherwise', () => {
    const response = { records: 'data', map: "$merge([$, { 'updated_at': changed }])" };
    expect(planOf({ incremental }, { incremental, response }).resources).toMatchObject([
      { resets: 'watermark', redelivers: 'everything' },
    ]);
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

  it('says where rows under the old keys go', () => {
    const plan = (resource: object) => planOf(resource, { ...resource, primaryKey: ['id', 'site'] }).resources[0];
    expect(plan({})).toMatchObject({ mayDelete: false, effect: expect.stringContaining('under the old keys stay') });
    const flag = { incremental, deletes: { mode: 'flag', when: 'gone' } };
    expect(plan(flag)).toMatchObject({ mayDelete: true });
    expect(plan({ deletes: flag.deletes })).toMatchObject({ mayDelete: false });
    const later = { ...flag, incremental: { ...incremental, initial: '2025-01-01T00:00:00Z' } };
    expect(plan(later)).toMatchObject({ mayDelete: false, effect: expect.stringContaining('under the old keys stay') });
    expect(plan({ deletes: { mode: 'full_scan' } })).toMatchObject({
      mayDelete: true,
      effect: expect.stringContaining('deletes rows of table items under the old keys'),
    });
    const destination = { kind: 'webhook', url: 'https://example.com', signingSecret: 's' };
    const sent = { deletes: { mode: 'full_scan' }, target: { table: 'items' } };
    const rekeyed = planOf(sent, { ...sent, primaryKey: ['id', 'site'] }, { destination });
    expect(rekeyed.resources[0]?.effect).toContain('the receiver keeps its records under the old keys');
  });

  it('clears the state where too little is known of the records, and never where less is used', () => {
    const unnoted = { incremental, changeDetection: { mode: 'none' } };
    const anew = { class: 'resets', resets: 'state', redelivers: 'everything', rekeyedTable: null };
    expect(planOf(unnoted, { incremental }).resources).toMatchObject([{ ...anew, mayDelete: false }]);
    expect(planOf(unnoted, { deletes: { mode: 'full_scan' } }).resources).toMatchObject([
      { ...anew, mayDelete: true, effect: expect.stringContaining('deletes those at the destination') },
    ]);
    expect(planOf({ incremental }, unnoted).resources).toMatchObject([{ resets: 'nothing' }]);
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
    expect(planUpgrade({ before: inUse(specOf({})), after: null, issues: [issue] })).toEqual({
      class: 'breaking',
      changed: [],
      resources: [],
      backfillRecommended: false,
      issues: [issue],
    });
  });

  it('starts over everywhere when the spec until now is not valid any more', () => {
    expect(planUpgrade({ before: null, after: inUse(specOf({})), issues: [] })).toMatchObject({
      class: 'resets',
      resources: [{ resourceKey: 'items', resets: 'state', redelivers: 'everything' }],
    });
  });

  it.each<[string, object]>([
    ['full_scan', { mode: 'full_scan' }],
    ['flag', { mode: 'flag', when: 'gone' }],
    ['endpoint', { mode: 'endpoint', request: { path: '/deleted' }, key: 'id' }],
  ])('of fewer partitions may delete what only they had: %s', (_mode, deletes) => {
    const resource = {
      forEach: [{ as: 'in', values: '{{ params.areas }}' }],
      request: { path: '/{{ each.in }}' },
      deletes,
    };
    const spec = specOf(resource, { connectionParams: [{ key: 'areas', type: 'string_list' }] });
    const plan = planUpgrade({
      before: inUse(spec, { areas: ['a', 'b'] }),
      after: inUse(spec, { areas: ['b'] }),
      issues: [],
    });
    expect(plan.resources).toMatchObject([{ mayDelete: true }]);
    const more = planUpgrade({
      before: inUse(spec, { areas: ['b'] }),
      after: inUse(spec, { areas: ['a', 'b'] }),
      issues: [],
    });
    expect(more.resources).toMatchObject([{ mayDelete: false }]);
  });
});

import { describe, expect, it } from 'vitest';
import { newId } from '../../src/core/ids.ts';
import { useSharedAccounts } from '../support/sync/use-accounts.ts';
import { createScriptedApi } from '../support/upstream/scripted-api.ts';

const api = createScriptedApi();
const { account, shared } = useSharedAccounts(api);

const day = (no: number) => new Date(Date.UTC(2025, 0, no)).toISOString();

interface Row {
  readonly id: number;
  readonly at: string;
  readonly count: number | string;
}

/** A resource whose transform fails on a count that is no number, read from its watermark on. */
function counted(key: string, rows: () => readonly Row[]) {
  api.serve(key, (query) => ({ body: rows().filter(({ at }) => at >= (query.get('since') ?? '')) }));
  return {
    key,
    request: { path: `/${key}`, query: { since: '{{ window.from }}' } },
    incremental: { kind: 'cursor', cursor: { field: 'at', type: 'datetime' }, order: 'asc', settle: 'PT0S' },
    transform: '{ "id": id, "count": $number(count) }',
    onInvalid: 'quarantine',
  };
}

/** The same with a transform that takes every count. */
const repaired = <Resource extends object>(resource: Resource) => ({
  ...resource,
  transform: '{ "id": id, "count": count = "many" ? 99 : $number(count) }',
});

const first = (): Row[] => [
  { id: 1, at: day(1), count: 1 },
  { id: 2, at: day(2), count: 'many' },
  { id: 3, at: day(3), count: 3 },
];

const requeue = async (id: string) => await shared().stack.org.call('POST', `/quarantine/${id}/requeue`);

/** The account after its first sync, which quarantined record 2; `open` is its quarantine row. */
async function withOneQuarantined(key: string, rows: () => readonly Row[]) {
  const resource = counted(key, rows);
  const of = await account({ key, resources: [resource] });
  const stats = { recordsIn: 3, recordsOut: 2, quarantined: 1 };
  expect(await of.sync(key)).toMatchObject({ status: 'partial', watermarkAfter: day(3), statsJson: stats });
  const [open] = await of.quarantine();
  if (!open) throw new Error('A record is quarantined.');
  return { of, resource, open };
}

describe('a record that is tried again', () => {
  it('is delivered under the spec then in force, although the API does not return it any more', async () => {
    const { of: connection, resource, open } = await withOneQuarantined('mended', first);
    await using of = connection;
    expect(open).toMatchObject({ externalId: '2', resolvedAt: null, rawJson: first()[1] });
    const { status, body } = await requeue(open.id);
    expect([status, body]).toEqual([200, { ...open, resolvedAt: expect.any(String) }]);
    await of.upgrade('2.0.0', [repaired(resource)]);
    // The third record stands at the watermark and is shaped anew.
    const stats = { recordsIn: 2, recordsOut: 2, skipped: 0, deleted: 0, quarantined: 0 };
    expect(await of.sync('mended')).toMatchObject({ status: 'succeeded', statsJson: stats });
    expect(await of.rows('mended')).toMatchObject([{ count: '1' }, { count: '99' }, { count: '3' }]);
    expect(await of.quarantine()).toEqual([body]);
    expect((await of.sync('mended')).statsJson).toMatchObject({ recordsIn: 1, skipped: 1 });
  });

  it('and is still invalid is open again, and the run is partial; the run after it leaves it alone', async () => {
    const { of: connection, open } = await withOneQuarantined('still', first);
    await using of = connection;
    await requeue(open.id);
    const stats = { recordsIn: 2, recordsOut: 0, skipped: 1, quarantined: 1 };
    expect(await of.sync('still')).toMatchObject({ status: 'partial', statsJson: stats });
    expect(await of.quarantine()).toEqual([open]);
    expect(await of.sync('still')).toMatchObject({ status: 'succeeded', statsJson: { recordsIn: 1 } });
  });

  it('is not tried when a newer version was delivered meanwhile', async () => {
    const rows = first();
    const { of: connection, resource, open } = await withOneQuarantined('newer', () => rows);
    await using of = connection;
    rows[1] = { id: 2, at: day(4), count: 4 };
    const { upstream } = shared();
    const gate = upstream.hold(upstream.journal.length + 1);
    const inProgress = await of.request('newer');
    // The run under way is past the records that are tried again.
    await gate.reached;
    await requeue(open.id);
    gate.release();
    expect((await of.ended(inProgress)).statsJson).toMatchObject({ recordsOut: 1 });

    await of.upgrade('2.0.0', [repaired(resource)]);
    // The one at the watermark, shaped anew.
    const stats = { recordsIn: 1, recordsOut: 1, skipped: 0 };
    expect(await of.sync('newer')).toMatchObject({ status: 'succeeded', statsJson: stats });
    expect(await of.rows('newer')).toMatchObject([{ id: '1' }, { id: '2', count: '4' }, { id: '3' }]);
  });

  it('gives way to the version that the same run fetches', async () => {
    const rows = first();
    const { of: connection, resource, open } = await withOneQuarantined('fetched', () => rows);
    await using of = connection;
    await requeue(open.id);
    await of.upgrade('2.0.0', [repaired(resource)]);
    rows[1] = { id: 2, at: day(5), count: 5 };
    expect((await of.sync('fetched')).status).toBe('succeeded');
    expect(await of.rows('fetched')).toMatchObject([{ id: '1' }, { id: '2', count: '5' }, { id: '3' }]);
  });

  it('is quarantined once when the same run fetches it, unchanged and still invalid', async () => {
    const { of: connection, open } = await withOneQuarantined('once', first);
    await using of = connection;
    await requeue(open.id);
    const run = await of.backfill('once');
    expect(run).toMatchObject({ status: 'partial', statsJson: { recordsIn: 4, quarantined: 1, skipped: 3 } });
    expect(await of.quarantine()).toEqual([open]);
  });

  it('finds the values of its partition, as when it was read', async () => {
    api.serve('projects', (query, { url }) => {
      const rows = [{ id: url.split(/[/?]/)[2], at: day(1), count: 'many' }];
      return { body: rows.filter(({ at }) => at >= (query.get('since') ?? '')) };
    });
    const shape = (count: string) => `{ "id": id, "project": $each.project, "count": ${count} }`;
    const projects = {
      ...counted('projects_', () => []),
      key: 'projects',
      forEach: [{ as: 'project', values: '{{ params.projects }}' }],
      request: { path: '/projects/{{ each.project }}', query: { since: '{{ window.from }}' } },
      transform: shape('$number(count)'),
    };
    const params = { projects: ['a', 'b', 'c'] };
    await using of = await account({ key: 'projects', resources: [projects], params });
    expect(await of.sync('projects')).toMatchObject({ status: 'partial', statsJson: { quarantined: 3 } });
    for (const { id, externalId } of await of.quarantine()) if (externalId !== 'b') await requeue(id);
    api.serve('projects', () => ({ body: [] }));
    await of.upgrade('2.0.0', [{ ...projects, transform: shape('99') }]);
    expect(await of.sync('projects')).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 2 } });
    expect(await of.rows('projects')).toMatchObject([
      { id: 'a', project: 'a' },
      { id: 'c', project: 'c' },
    ]);
  });
});

describe('asking for another try', () => {
  it('of a record that is resolved changes nothing', async () => {
    const { of: connection, resource, open } = await withOneQuarantined('resolved', first);
    await using of = connection;
    const { body } = await requeue(open.id);
    expect(await requeue(open.id)).toMatchObject({ status: 200, body });
    await of.upgrade('2.0.0', [repaired(resource)]);
    expect((await of.sync('resolved')).statsJson).toMatchObject({ quarantined: 0 });
    expect(await requeue(open.id)).toMatchObject({ status: 200, body });
    expect(await of.sync('resolved')).toMatchObject({ status: 'succeeded', statsJson: { recordsIn: 1 } });
  });

  it('takes every open record of a connection, or those of one of its resources', async () => {
    const [west, east] = [counted('west', first), counted('east', first)];
    await using of = await account({ key: 'bulk', resources: [west, east] });
    await of.sync('west');
    await of.sync('east');
    const { call } = shared().stack.org;
    const all = async (body: object) =>
      await call('POST', '/quarantine/requeue', { body: { connectionId: of.connectionId, ...body } });
    expect(await all({ resourceKey: 'west' })).toMatchObject({ status: 200, body: { requeued: 1 } });
    expect(await of.quarantine()).toMatchObject([
      { resourceKey: 'east', resolvedAt: null },
      { resourceKey: 'west', resolvedAt: expect.any(String) },
    ]);
    expect((await all({})).body).toEqual({ requeued: 1 });
    expect((await all({})).body).toEqual({ requeued: 0 });
    await of.upgrade('2.0.0', [repaired(west), repaired(east)]);
    for (const key of ['west', 'east']) {
      expect((await of.sync(key)).status).toBe('succeeded');
      expect(await of.live(key)).toEqual(['1', '2', '3']);
    }
  });

  it('finds nothing under an id of nobody', async () => {
    const { call } = shared().stack.org;
    expect((await requeue(newId('quar'))).status).toBe(404);
    expect((await call('POST', '/quarantine/requeue', { body: { connectionId: newId('con') } })).status).toBe(404);
  });
});

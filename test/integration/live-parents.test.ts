import { describe, expect, it } from 'vitest';
import { eventually } from '../support/service/eventually.ts';
import { useAccounts } from '../support/sync/use-accounts.ts';
import { createPartsAsked, partsOf } from '../support/upstream/asked.ts';
import { createScriptedApi } from '../support/upstream/scripted-api.ts';

const api = createScriptedApi();
const { account, shared } = useAccounts(api);

const partsAsked = createPartsAsked(() => shared().upstream);

const byToken = { kind: 'cursor', next: 'body.next', inject: { in: 'query', name: 'page' } };

/**
 * Teams of several regions, `pages` pages of one team each, and their members, who are read once per team. Regions that
 * are `closed` are refused.
 */
function company(
  prefix: string,
  { pages, closed = new Set() }: { readonly pages: number; readonly closed?: Set<string> },
) {
  const [teams, members] = [`${prefix}_teams`, `${prefix}_members`];
  api.serve(teams, (query, request) => {
    const region = partsOf(request);
    if (closed.has(region)) return { status: 403 };
    const page = Number(query.get('page') ?? 1);
    return { body: { data: [{ id: `${region}${page}` }], next: page < pages ? String(page + 1) : null } };
  });
  api.serve(members, (_query, request) => ({ body: [{ id: `of ${partsOf(request)}` }] }));
  return [
    {
      key: teams,
      forEach: [{ as: 'region', values: '{{ params.regions }}' }],
      request: { path: `/${teams}/{{ each.region }}` },
      response: { records: 'data', addFields: { region: 'each.region' } },
      pagination: byToken,
      filter: "$each.region != 'none'",
      errors: [{ when: { status: [403] }, action: 'skip_partition' }],
    },
    {
      key: members,
      forEach: [{ as: 'team', resource: teams, from: 'live' }],
      request: { path: `/${members}/{{ each.team.region }}/{{ each.team.id }}` },
      deletes: { mode: 'full_scan' },
    },
  ] as const;
}

const params = { regions: ['eu', 'us'] };

describe('a parent that has partitions of its own and is read live', () => {
  it('gives the children of all its partitions, and delivers nothing', async () => {
    const resources = company('whole', { pages: 2 });
    await using of = await account({ key: 'whole', resources, params: { regions: ['eu', 'none', 'us'] } });
    expect(await of.sync('whole_members')).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 4 } });
    expect(partsAsked('whole_members')).toEqual(['eu/eu1', 'eu/eu2', 'us/us1', 'us/us2']);
    expect(await of.destination.query("select from pg_tables where tablename = 'whole_teams'")).toEqual([]);
    expect(await shared().stack.db.selectFrom('runDimensions').select('no').execute()).toEqual([]);
  });

  it('may be below others itself, live or stored, at any depth', async () => {
    api.serve('lands', () => ({ body: [{ id: 'de' }, { id: 'fr' }] }));
    api.serve('kinds', () => ({
      body: [
        { id: 'a', old: false },
        { id: 'z', old: true },
      ],
    }));
    api.serve('towns', (_query, request) => ({ body: [{ id: partsOf(request).replace('/', '-') }] }));
    api.serve('people', (_query, request) => ({ body: [{ id: `of ${partsOf(request)}` }] }));
    const resources = [
      { key: 'lands' },
      { key: 'kinds' },
      {
        key: 'towns',
        forEach: [
          { as: 'land', resource: 'lands', from: 'live' },
          { as: 'kind', resource: 'kinds', from: 'store', select: 'changed', when: '$not(old)' },
        ],
        request: { path: '/towns/{{ each.land.id }}/{{ each.kind.id }}' },
      },
      {
        key: 'people',
        forEach: [
          { as: 'year', values: '{{ [1, 2] }}' },
          { as: 'town', resource: 'towns', from: 'live' },
        ],
        request: { path: '/people/{{ each.year }}/{{ each.town.id }}' },
      },
    ];
    await using of = await account({ key: 'lands', resources });
    await of.sync('kinds');
    const people = ['1/de-a', '1/fr-a', '2/de-a', '2/fr-a'];
    for (let time = 0; time < 2; time += 1) {
      expect((await of.sync('people')).status).toBe('succeeded');
      expect(partsAsked('people')).toEqual(people);
    }
    expect(await of.live('people')).toEqual(people.map((part) => `of ${part}`));
    expect(await of.ask('POST', '/test', { resource: 'people' })).toMatchObject({ ok: true });
  });

  it('and is refused in part leaves the run partial and deletes nothing; refused as a whole it fails the run', async () => {
    const closed = new Set<string>();
    const resources = company('shut', { pages: 1, closed });
    await using of = await account({ key: 'shut', resources, params });
    await of.sync('shut_members');
    closed.add('eu');
    expect(await of.sync('shut_members')).toMatchObject({ status: 'partial', statsJson: { recordsIn: 1, deleted: 0 } });
    closed.add('us');
    expect(await of.sync('shut_members')).toMatchObject({ status: 'failed', error: { code: 'source_rejected' } });
    expect(await of.live('shut_members')).toEqual(['of eu/eu1', 'of us/us1']);
    closed.clear();
    expect(await of.sync('shut_members')).toMatchObject({ status: 'succeeded', statsJson: { recordsIn: 2 } });
  });

  it('is listed on by another process when the one at it dies', async () => {
    const pages = 6;
    const resources = company('dying', { pages });
    await using of = await account({ key: 'dying', resources, params });
    const { upstream, stack } = shared();
    const gate = upstream.hold(upstream.journal.length + pages + 3);
    const runId = await of.request('dying_members');
    await gate.reached;
    await eventually('pages before it are kept', async () => {
      const kept = stack.db
        .selectFrom('runDimensions')
        .select('no')
        .where('runId', '=', runId)
        .where('dimension', '=', 0);
      return (await kept.execute()).length === pages + 2;
    });
    await stack.killWorker('SIGKILL');
    gate.release();
    await stack.startWorker();
    expect(await of.ended(runId)).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 2 * pages } });
    expect(partsAsked('dying_teams')).toHaveLength(2 * pages + 1);
    expect(partsAsked('dying_members')).toHaveLength(2 * pages);
  });
});

import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { setConnectionStatus } from '../../db/queries/connections/connections.ts';
import { requestCancel } from '../../db/queries/runs/cancel.ts';
import { beginRun } from '../../db/queries/runs/lanes/begin-run.ts';
import { endRun } from '../../db/queries/runs/lanes/end-run.ts';
import { insertRun } from '../../db/queries/runs/runs.ts';
import { orgScope } from '../../db/scope.ts';
import { newId } from '../../src/core/ids.ts';
import type { RunTrigger } from '../../src/core/resources/run.ts';
import { openTestDatabase, type TestDatabase } from '../support/service/database.ts';
import { newRun } from '../support/service/receipts.ts';
import { insertTestConnection } from '../support/service/rows.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

/** An org that may have so many runs under way. */
async function orgOf(runsAtOnce: number) {
  const { db } = database;
  const { orgId, connectionId: first } = await insertTestConnection(db);
  const scope = orgScope(orgId);
  await db
    .updateTable('orgs')
    .set({ limits: JSON.stringify({ runsAtOnce }) })
    .where('id', '=', orgId)
    .execute();
  const outcome = { status: 'succeeded', error: null } as const;
  return {
    scope,
    first,
    async connection() {
      const id = newId('con');
      await sql`
        insert into connections (id, org_id, workspace_id, spec_id, pinned_spec_version, display_name, status, params_json)
        select ${id}, org_id, workspace_id, spec_id, pinned_spec_version, display_name, 'active', params_json
        from connections where id = ${first}`.execute(db);
      return id;
    },
    run: async (connectionId: string, parts: Parameters<typeof newRun>[1] = {}) =>
      (await insertRun(db, scope, newRun(connectionId, { concurrentMax: 9, ...parts }))).id,
    begin: async (runId: string) => (await beginRun(db, scope, runId)).turn,
    end: async (runId: string) => {
      const { next } = await endRun(db, scope, { runId, outcome, breaksConnection: false });
      return next.map(({ id }) => id);
    },
  };
}

type Org = Awaited<ReturnType<typeof orgOf>>;

/** Queued runs of connections of their own. */
async function runsOf(org: Org, triggers: readonly RunTrigger[]): Promise<readonly string[]> {
  const ids: string[] = [];
  for (const trigger of triggers) ids.push(await org.run(await org.connection(), { trigger }));
  return ids;
}

async function inTurn<Value>(ids: readonly string[], ask: (id: string) => Promise<Value>): Promise<readonly Value[]> {
  const values: Value[] = [];
  for (const id of ids) values.push(await ask(id));
  return values;
}

const manual = (count: number): RunTrigger[] => Array.from({ length: count }, () => 'manual');

describe('runs of an org with several connections', () => {
  it('run at once up to its limit, however many begin at the same moment', async () => {
    const org = await orgOf(3);
    const ids = await runsOf(org, manual(20));
    const turns = await Promise.all(ids.map(org.begin));
    expect(turns.filter((turn) => turn === 'running')).toHaveLength(3);
    expect(turns.filter((turn) => turn === 'waiting')).toHaveLength(17);
  });

  it('do not overtake one of the same trigger that waits for longer', async () => {
    const org = await orgOf(1);
    const [running = '', waiting = ''] = await runsOf(org, manual(2));
    expect(await inTurn([running, waiting], org.begin)).toEqual(['running', 'waiting']);
    await org.end(running);
    const [late = ''] = await runsOf(org, manual(1));
    expect(await org.begin(late)).toBe('waiting');
    expect(await org.begin(waiting)).toBe('running');
  });

  it('are woken for a free place of any connection, and only for that', async () => {
    const org = await orgOf(2);
    const [first = '', second = '', ...waiting] = await runsOf(org, [...manual(2), 'backfill', 'schedule', 'webhook']);
    await inTurn([first, second, ...waiting], org.begin);
    const [backfill, schedule = '', webhook] = waiting;
    expect(await org.end(first)).toEqual([schedule]);
    expect(await org.begin(schedule)).toBe('running');
    expect(await org.end(second)).toEqual([webhook]);
    expect(await org.end(schedule)).toEqual([webhook, backfill]);
  });

  it('never wait unheard of: one that asks while another ends begins, or is named by the end', async () => {
    const org = await orgOf(1);
    let [running = ''] = await runsOf(org, manual(1));
    expect(await org.begin(running)).toBe('running');
    for (let round = 0; round < 40; round += 1) {
      const [asking = ''] = await runsOf(org, manual(1));
      const [turn, next] = await Promise.all([org.begin(asking), org.end(running)]);
      if (turn === 'waiting') expect(next).toEqual([asking]);
      expect(await org.begin(asking)).toBe('running');
      running = asking;
    }
  });
});

describe('a run that may not begin itself', () => {
  /** A place is free, and only a backfill could take it. */
  async function expectPlaceFor(org: Org, running: string) {
    const [backfill = ''] = await runsOf(org, ['backfill']);
    expect(await org.begin(backfill)).toBe('waiting');
    expect(await org.end(running)).toContain(backfill);
    expect(await org.begin(backfill)).toBe('running');
  }

  it('because its API takes no more requests holds up no other connection', async () => {
    const org = await orgOf(2);
    const others = await runsOf(org, manual(2));
    const capped = await inTurn(['a', 'b', 'c'], (resourceKey) =>
      org.run(org.first, { resourceKey, concurrentMax: 1 }),
    );
    const [backfill = ''] = await runsOf(org, ['backfill']);
    await inTurn([...others, ...capped, backfill], org.begin);
    // Of those of one connection the first alone has a turn.
    const ends = await inTurn(others, org.end);
    expect(ends).toEqual([[capped[0]], [capped[0], backfill]]);
    expect(await org.begin(backfill)).toBe('running');
  });

  it('because it waits for another resource holds up no other connection', async () => {
    const org = await orgOf(2);
    const parent = await org.run(org.first, { resourceKey: 'parent' });
    const children = await inTurn(['a', 'b'], (resourceKey) =>
      org.run(org.first, { resourceKey, waitsFor: ['parent'] }),
    );
    const [other = ''] = await runsOf(org, manual(1));
    expect(await inTurn([parent, ...children, other], org.begin)).toEqual(['running', 'waiting', 'waiting', 'running']);
    await expectPlaceFor(org, other);
  });

  it.each([
    [
      'because its connection was paused',
      (org: Org) => setConnectionStatus(database.db, org.scope, { id: org.first, status: 'paused' }),
    ],
    [
      'because it was canceled',
      async (org: Org, runId: string) => {
        await sql`update runs set dispatched_at = now() where id = ${runId}`.execute(database.db);
        await requestCancel(database.db, org.scope, runId);
      },
    ],
    [
      'because its workflow is lost',
      (_: Org, runId: string) =>
        sql`update runs set ready_at = now() - interval '91 seconds' where id = ${runId}`.execute(database.db),
    ],
  ])('%s holds up no other connection', async (_, stop) => {
    const org = await orgOf(1);
    const [running = ''] = await runsOf(org, manual(1));
    const stopped = await org.run(org.first);
    expect(await inTurn([running, stopped], org.begin)).toEqual(['running', 'waiting']);
    await stop(org, stopped);
    await expectPlaceFor(org, running);
  });
});

describe('a queue of 10,000 runs', () => {
  it.each([
    ['of one resource', 1, 9],
    ['of as many resources, which may run one at a time', 10_000, 1],
    ['of as many resources, which may run at once', 10_000, 9],
  ])('%s makes beginning and ending no slower than one of 20', async (_, lanes, concurrentMax) => {
    const short = await roundMs({ runs: 20, lanes, concurrentMax });
    const long = await roundMs({ runs: 10_000, lanes, concurrentMax });
    // It was 500 times slower where all that waited were looked at for each; a busy machine makes it some 20 times.
    expect(long).toBeLessThan(100 * short);
  });

  interface Queue {
    readonly runs: number;
    readonly lanes: number;
    readonly concurrentMax: number;
  }

  /** The median of beginning and ending a run behind a queue in which every run that can has asked to begin, ms. */
  async function roundMs({ runs, lanes, concurrentMax }: Queue): Promise<number> {
    const { db } = database;
    const org = await orgOf(2);
    const running = await org.run(org.first, { resourceKey: 'r1', concurrentMax });
    await org.begin(running);
    await sql`insert into lanes (org_id, connection_id, resource_key)
      select ${org.scope.orgId}, ${org.first}, 'r' || n from generate_series(2, ${lanes}::int) n`.execute(db);
    // Before the database knows that there are many, it looks at all of them for the lane of each run: 40 s.
    await sql`analyze lanes`.execute(db);
    await sql`
      insert into runs (id, org_id, connection_id, resource_key, lane_id, concurrent_max, trigger, ready_at)
      select 'run_' || ${org.scope.orgId}::text || n, ${org.scope.orgId}, ${org.first},
        'r' || (1 + (n - 1) % ${lanes}::int), all_of.lanes[1 + (n - 1) % ${lanes}::int], ${concurrentMax}::int, 'manual',
        case when n > 1 and n <= ${lanes}::int then now() end
      from (select array_agg(id order by substr(resource_key, 2)::int) as lanes from lanes
          where org_id = ${org.scope.orgId} and connection_id = ${org.first}) all_of,
        generate_series(1, ${runs}::int) n
      order by n`.execute(db);
    const rounds: number[] = [];
    for (let round = 0; round < 7; round += 1) {
      const [late = ''] = await runsOf(org, ['backfill']);
      const startedAt = performance.now();
      await org.begin(late);
      await org.end(late);
      rounds.push(performance.now() - startedAt);
    }
    return rounds.toSorted((a, b) => a - b)[3] ?? 0;
  }
});

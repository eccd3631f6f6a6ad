import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { useStack } from '../support/service/use-stack.ts';
import { createSync, type Sync } from '../support/sync/sync.ts';
import { generateRecords } from '../support/upstream/upstream.ts';

const perPage = 100;
const records = 1000;
const shared = useStack({
  collections: {
    dropped: generateRecords(records),
    lost: generateRecords(records),
    forgotten: generateRecords(records),
    interrupted: generateRecords(records),
    empty: [],
  },
});

const syncOf = (collection: string): Promise<Sync> =>
  createSync(shared().stack, { upstream: shared().upstream, collection, perPage });

describe('a destination that lost what was delivered', () => {
  test('has every row again after the next run that brings something; the run after that has nothing to do', async () => {
    await using sync = await syncOf('dropped');
    expect(await outcome(sync)).toMatchObject({ status: 'succeeded', recordsOut: records });
    expect(await outcome(sync)).toMatchObject({ status: 'succeeded', recordsOut: 0 });
    await sync.destination.query('drop table dropped');
    addRecord('dropped');
    expect(await outcome(sync)).toMatchObject({ status: 'succeeded', recordsOut: records + 1 });
    expect(await rowsAt(sync, 'dropped')).toBe(records + 1);
    expect(await outcome(sync)).toMatchObject({ status: 'succeeded', recordsOut: 0 });
    expect(shared().stack.worker().tail()).toContain('the destination is new');
  });

  test('has them after the loss of the whole schema, too', async () => {
    await using sync = await syncOf('lost');
    await outcome(sync);
    await sync.destination.query('drop schema public cascade; create schema public');
    addRecord('lost');
    expect(await outcome(sync)).toMatchObject({ status: 'succeeded', recordsOut: records + 1 });
    expect(await rowsAt(sync, 'lost')).toBe(records + 1);
  });

  test('has them after the first run of the next day, though no record changed', async () => {
    await using sync = await syncOf('forgotten');
    await outcome(sync);
    await sync.destination.query('drop table forgotten');
    expect(await outcome(sync)).toMatchObject({ status: 'succeeded', recordsOut: 0 });
    await ageLane(sync);
    expect(await outcome(sync)).toMatchObject({ status: 'succeeded', recordsOut: records });
    expect(await rowsAt(sync, 'forgotten')).toBe(records);
    // From then on it is left alone for another day.
    await sync.destination.query('drop table forgotten');
    expect(await outcome(sync)).toMatchObject({ status: 'succeeded', recordsOut: 0 });
  });

  test('has them when the worker dies between taking notice and the first row', async () => {
    const { stack, upstream } = shared();
    await using sync = await syncOf('interrupted');
    await outcome(sync);
    await sync.destination.query('drop table interrupted');
    await ageLane(sync);
    const runId = await sync.requestPaused();
    expect(await knownRecords(sync)).toBe(0);
    await stack.killWorker('SIGKILL');
    await stack.startWorker();
    upstream.resume();
    expect((await sync.ended(runId)).status).toBe('succeeded');
    expect(await sync.destination.writes()).toEqual({ rows: records, inserts: records, updates: 0, deletes: 0 });
  });
});

test('a source without records leaves its mark at the destination, which is then no longer new', async () => {
  const { upstream } = shared();
  await using sync = await syncOf('empty');
  expect(await outcome(sync)).toMatchObject({ status: 'succeeded', recordsOut: 0 });
  const claimed = 'select from _css_checkpoint where run_id is not null';
  expect(await sync.destination.query(claimed)).toHaveLength(1);
  upstream.store('empty').put(...generateRecords(1));
  expect(await outcome(sync)).toMatchObject({ status: 'succeeded', recordsOut: 1 });
  expect(await knownRecords(sync)).toBe(1);
});

async function outcome(sync: Sync): Promise<Record<string, unknown>> {
  const { status, statsJson } = await sync.ended(await sync.request());
  return { status, ...statsJson };
}

/** One that changed after all others. */
function addRecord(collection: string): void {
  shared()
    .upstream.store(collection)
    .put(...generateRecords(records + 1).slice(records));
}

/** A day passes since the destination of the lane was asked last. */
async function ageLane({ connectionId }: Sync): Promise<void> {
  await sql`update lanes set recorded_since = recorded_since - interval '1 day' where connection_id = ${connectionId}`.execute(
    shared().stack.db,
  );
}

async function rowsAt({ destination }: Sync, table: string): Promise<number> {
  const [row] = await destination.query<{ count: string }>(`select count(*) from ${table}`);
  return Number(row?.count);
}

async function knownRecords({ connectionId }: Sync): Promise<number> {
  const { rows } = await sql<{ count: string }>`
    select count(*) from record_state s join lanes l on l.id = s.lane_id
    where l.connection_id = ${connectionId}`.execute(shared().stack.db);
  return Number(rows[0]?.count);
}

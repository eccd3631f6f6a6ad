import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import type { RunRow } from '../../src/core/resources/run.ts';
import { syncRunId } from '../../workflows/contract.ts';
import { eventually } from '../support/service/eventually.ts';
import { useStack } from '../support/service/use-stack.ts';
import { openEngineConnection } from '../support/sync/engine-connection.ts';
import { generateRecords } from '../support/upstream/upstream.ts';

const records = 1000;
/** Enough that a run is stopped long before its end. */
const many = 20_000;
let refused = false;
let down = false;
/** Seconds that the API asks to wait for at a collection, once. */
const limitedSeconds = new Map<string, number>();

const shared = useStack({
  collections: {
    mended: generateRecords(records),
    pausing: generateRecords(many),
    slow: generateRecords(records),
    hanging: generateRecords(records),
    guarded: generateRecords(100),
    down: generateRecords(records),
    unexpected: generateRecords(records),
    limited: generateRecords(records),
    briefly: generateRecords(records),
  },
  reply({ url }) {
    if (refused && url.includes('/guarded')) return { status: 401, body: '{}' };
    const collection = url.split(/[/?]/)[2] ?? '';
    const seconds = limitedSeconds.get(collection);
    if (seconds !== undefined) {
      limitedSeconds.delete(collection);
      return { status: 429, headers: { 'retry-after': String(seconds) }, body: '{}' };
    }
    return down && url.includes('/down') ? { status: 503, body: '{}' } : undefined;
  },
});

const connect = (collection: string, resource?: Record<string, unknown>, options?: { readonly password?: string }) =>
  openEngineConnection(shared(), collection, resource, options);

/** Each of them waits for most of its time, at a collection of its own. */
describe.concurrent('beside each other', () => {
  describe('an error that nobody expects', () => {
    it('is in the run row while it is tried again, ends the run within 60 s, and leaves the lane free', async () => {
      const { stack, upstream } = shared();
      const connection = await connect('unexpected');
      const record = upstream.store('unexpected').find('r000900');
      if (!record) throw new Error('There is such a record');
      // The runs beside it have no such record.
      upstream.store('unexpected').put({ ...record, id: 'unexpected' });
      await sql`create function refuse() returns trigger language plpgsql as
      'begin raise exception ''a bug''; end'`.execute(stack.db);
      await sql`create trigger refuse before insert on record_state for each row
      when (new.external_id = 'unexpected') execute function refuse()`.execute(stack.db);
      const run = connection.sync();
      const running = await eventually('the row of the run says why it is tried again', async () => {
        const { body } = await stack.org.call('GET', '/runs?resource=unexpected');
        const [row] = body as RunRow[];
        return row?.status === 'running' && row.error !== null && row;
      });
      expect(running.error).toMatchObject({ code: 'internal' });
      const { status, error } = await run;
      expect({ status, error }).toMatchObject({ status: 'failed', error: { code: 'internal' } });
      expect(error?.message).toContain('No progress after 8 attempts');
      await sql`drop trigger refuse on record_state`.execute(stack.db);
      expect(await connection.sync()).toMatchObject({ status: 'succeeded', error: null });
      expect(await connection.count()).toBe(records + 1);
    });
  });

  describe('an API that requests a long wait', () => {
    it('is left alone by a durable timer, and the run goes on after it; operators find it by its attributes', async () => {
      const { stack } = shared();
      const connection = await connect('limited');
      limitedSeconds.set('limited', 12);
      const run = await connection.sync();
      expect(run).toMatchObject({ status: 'succeeded', statsJson: { recordsIn: records, recordsOut: records } });
      const { id: runId, connectionId } = run;
      const workflowId = syncRunId({ connectionId, resourceKey: 'limited', runId });
      const workflow = stack.temporal.client.workflow.getHandle(workflowId);
      const { events } = await workflow.fetchHistory();
      expect(events?.filter(({ timerStartedEventAttributes }) => timerStartedEventAttributes)).toHaveLength(1);
      const attributes = (await workflow.describe()).typedSearchAttributes.getAll();
      expect(Object.fromEntries(attributes.map(({ key, value }) => [key.name, value]))).toMatchObject({
        CssOrgId: stack.org.orgId,
        CssConnectionId: connectionId,
        CssResourceKey: 'limited',
        CssRunId: runId,
        CssTrigger: 'manual',
      });
    });
  });

  describe('an API that stays down', () => {
    it('fails the run with its last response after 12 attempts in a row that came no page further', async () => {
      const { stack } = shared();
      const connection = await connect('down');
      down = true;
      const run = connection.sync();
      // Twelve would take two minutes: the first and the last ones are real, those between are entered as if made.
      await eventually('an attempt has failed', async () => {
        const { numAffectedRows } = await sql`
        update runs set attempts = 11 where resource_key = 'down' and error_code is not null`.execute(stack.db);
        return numAffectedRows === 1n;
      });
      const { status, error } = await run;
      expect(status).toBe('failed');
      expect(error).toMatchObject({ code: 'source_unavailable' });
      expect(error?.message).toContain('503');
      expect(error?.message).toContain('No progress after 12 attempts');
      down = false;
      expect((await connection.sync()).status).toBe('succeeded');
      expect(await connection.count()).toBe(records);
    });
  });

  describe('the details of a run that waits, in the Temporal UI', () => {
    it('say that it is rate limited, even if the wait is too short for a timer', async () => {
      const connection = await connect('briefly');
      limitedSeconds.set('briefly', 9);
      const details = detailsOf('briefly', (await connection.requestSync()).body);
      await eventually('they say what it waits for', async () =>
        (await details()).includes('rate limited; requests page 1 after the rate limit'),
      );
      await eventually('they say that it is read', async () => (await details()).includes('read completely'));
    });
  });
});

describe('a record that fails its run', () => {
  it('costs nothing once it is mended: every record of the pages after it arrives', async () => {
    const { upstream } = shared();
    const store = upstream.store('mended');
    const sound = store.find('r000350');
    if (!sound) throw new Error('There is such a record');
    store.put({ ...sound, name: 7 });
    const connection = await connect('mended', { transform: '{ "id": id, "name": $uppercase(name) }' });

    const failed = await connection.sync();
    expect(failed).toMatchObject({ status: 'failed', error: { code: 'record_invalid' } });
    expect(await connection.count()).toBeLessThan(350);

    store.put(sound);
    expect(await connection.sync()).toMatchObject({ status: 'succeeded', error: null });
    expect(await connection.count()).toBe(records);
  });
});

describe('pages that were read', () => {
  it('reach the destination while the next one is still on its way, though their batch is not full', async () => {
    const { upstream } = shared();
    const connection = await connect('slow');
    const fourth = upstream.hold(upstream.journal.length + 4);
    const run = connection.sync();
    await fourth.reached;
    await eventually('three pages are delivered', async () => (await connection.count()) === 300);
    expect(upstream.journal.at(-1)?.status).toBeNull();
    fourth.release();
    expect(await run).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: records } });
  });
});

describe('the details of a run in the Temporal UI', () => {
  it('say what is read from the start, and while a page is long in coming how much was read and what it waits for', async () => {
    const { upstream } = shared();
    const connection = await connect('slow');
    const [first, third] = [upstream.hold(upstream.journal.length + 1), upstream.hold(upstream.journal.length + 3)];
    const details = detailsOf('slow', (await connection.requestSync()).body);
    await first.reached;
    expect(await details()).toContain('requests the first page');
    first.release();
    await third.reached;
    await eventually('they say what it waits for', async () =>
      (await details()).includes('2 pages, 200 records; waits for page 3 of the API'),
    );
    third.release();
    await eventually('they say that it is read', async () => (await details()).includes('read completely'));
  });
});

/** Reads the current details of the workflow of a run. */
function detailsOf(resourceKey: string, { id: runId, connectionId }: Pick<RunRow, 'id' | 'connectionId'>) {
  const id = syncRunId({ connectionId, resourceKey, runId });
  const workflow = shared().stack.temporal.client.workflow.getHandle(id);
  return async () => {
    const { currentDetails } = await workflow.query<{ currentDetails: string }>('__temporal_workflow_metadata');
    return currentDetails;
  };
}

describe('a request that hangs', () => {
  it.each([
    ['its run is canceled', 'run'],
    ['its connection is paused', 'pause'],
    ['its connection is deleted', 'delete'],
  ])('is ended when %s: what was delivered stays, and the run is canceled', async (_, what) => {
    const { upstream, stack } = shared();
    const connection = await connect('hanging');
    const third = upstream.hold(upstream.journal.length + 3);
    const { body } = await connection.requestSync();
    await third.reached;
    await eventually('two pages are delivered', async () => (await connection.count()) === 200);
    const stoppedAt = performance.now();
    if (what === 'run') await stack.org.call('POST', `/runs/${body.id}/cancel`);
    else if (what === 'pause') await connection.post('pause');
    else await stack.org.call('DELETE', `/connections/${body.connectionId}`);
    await eventually('the run is over', async () => {
      const { rows } = await sql<{ readonly status: string }>`select status from runs where id = ${body.id}`.execute(
        stack.db,
      );
      return rows.every(({ status }) => status === 'canceled');
    });
    // Two seconds are what is promised; a request that is waited for takes ten.
    expect(performance.now() - stoppedAt).toBeLessThan(7000);
    expect(upstream.journal.at(-1)?.status).toBeNull();
    expect(await connection.count()).toBe(200);
    third.release();
  });
});

describe('pausing a connection', () => {
  it('cancels the run in progress, which delivers nothing more', async () => {
    const { upstream } = shared();
    const connection = await connect('pausing');
    const fifth = upstream.hold(upstream.journal.length + 5);
    const run = connection.sync();
    await fifth.reached;
    expect(await connection.post('pause')).toMatchObject({ status: 'paused' });
    fifth.release();
    expect((await run).status).toBe('canceled');
    const delivered = await connection.count();
    expect(delivered).toBeLessThan(many);
    expect(await connection.post('activate')).toMatchObject({ status: 'active' });
    expect(await connection.count()).toBe(delivered);
    expect((await connection.sync()).status).toBe('succeeded');
    expect(await connection.count()).toBe(many);
  });
});

describe('refused credentials', () => {
  it('move the connection to error; activating it again takes it out', async () => {
    const connection = await connect('guarded');
    refused = true;
    expect(await connection.sync()).toMatchObject({ status: 'failed', error: { code: 'auth_failed' } });
    expect((await connection.get()).status).toBe('error');
    expect((await connection.requestSync()).status).toBe(409);
    refused = false;
    await connection.post('activate');
    expect((await connection.sync()).status).toBe('succeeded');
  });
});

describe('a destination that refuses the login', () => {
  it('moves the connection to error at the third run in a row, not before', async () => {
    const connection = await connect('guarded', {}, { password: 'wrong' });
    for (const status of ['active', 'active', 'error']) {
      expect(await connection.sync()).toMatchObject({ status: 'failed', error: { code: 'destination_login' } });
      expect((await connection.get()).status).toBe(status);
    }
  });
});

import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { syncRunId } from '../../workflows/contract.ts';
import { eventually } from '../support/service/eventually.ts';
import { useSharedService } from '../support/service/use-shared-service.ts';
import { createSync, type Sync } from '../support/sync/sync.ts';
import { generateRecords } from '../support/upstream/upstream.ts';

const perPage = 100;
const records = 1000;
/** More than a run has under way at once. */
const manyRecords = 5000;
const collections = ['deleted', 'kept', 'rekeyed', 'recursored'];
const shared = useSharedService({
  collections: {
    ...Object.fromEntries(collections.map((name) => [name, generateRecords(records)])),
    busy: generateRecords(manyRecords),
  },
});

const syncOf = (collection: string): Promise<Sync> =>
  createSync(shared().stack, { upstream: shared().upstream, collection, perPage });
const call = (...request: Parameters<ReturnType<typeof shared>['stack']['org']['call']>) =>
  shared().stack.org.call(...request);

describe('deleting a connection', () => {
  test('while it syncs ends the run and leaves nothing of it here, and every delivered row where it is', async () => {
    const { stack, upstream } = shared();
    await using kept = await syncOf('kept');
    await kept.ended(await kept.request());
    await using sync = await syncOf('deleted');
    await sync.ended(await sync.request());
    upstream.store('deleted').touch(['r000001']);
    const running = await sync.requestPaused();
    const waiting = await sync.request();
    const { connectionId } = sync;

    expect(await call('DELETE', `/connections/${connectionId}`)).toMatchObject({
      status: 200,
      body: { deleted: true },
    });
    expect(await secretsOf(connectionId)).toBe(0);
    const isGone = { status: 404, body: { error: { code: 'not_found' } } };
    expect(await call('GET', `/connections/${connectionId}`)).toMatchObject(isGone);
    expect(await call('DELETE', `/connections/${connectionId}`)).toMatchObject(isGone);
    for (const step of ['activate', 'pause']) {
      expect(await call('POST', `/connections/${connectionId}/${step}`)).toMatchObject(isGone);
    }
    expect(await call('POST', `/runs/${running}/replay`)).toMatchObject(isGone);
    expect((await call('GET', '/connections')).body.map(({ id }: { id: string }) => id)).not.toContain(connectionId);
    upstream.resume();

    await eventually('the sweeper has removed it', async () => (await rowsNaming(connectionId)).length === 0);
    for (const runId of [running, waiting]) {
      const handle = stack.temporal.client.workflow.getHandle(
        syncRunId({ connectionId, resourceKey: 'deleted', runId }),
      );
      expect((await handle.describe()).status.name).not.toBe('RUNNING');
    }
    expect(await rowsAt(sync, 'deleted')).toBe(records);
    expect(await rowsNaming(kept.connectionId)).toContain('runs');
    expect(await outcome(kept)).toMatchObject({ status: 'succeeded', recordsOut: 0 });
  });
});

describe('an upgrade', () => {
  test('to another primary key delivers everything again under the new keys', async () => {
    await using sync = await syncOf('rekeyed');
    await outcome(sync);
    await upgrade(sync, 'rekeyed', { primaryKey: ['id', 'name'] });
    expect(await outcome(sync)).toMatchObject({ status: 'succeeded', recordsOut: records, watermarkBefore: null });
    expect(await rowsAt(sync, 'rekeyed')).toBe(2 * records);
    expect(await outcome(sync)).toMatchObject({ status: 'succeeded', recordsOut: 0 });
  });

  test('to another cursor reads everything once more and delivers nothing that is there', async () => {
    await using sync = await syncOf('recursored');
    await outcome(sync);
    const cursor = { field: 'updated_at', type: 'string' };
    await upgrade(sync, 'recursored', { incremental: { kind: 'cursor', cursor, order: 'asc' } });
    expect(await outcome(sync)).toMatchObject({ watermarkBefore: null, recordsIn: records, recordsOut: 0 });
  });

  test('during a run of a resource that starts over stops that run, and the next one does it', async () => {
    const { upstream } = shared();
    await using sync = await syncOf('busy');
    await outcome(sync);
    upstream.store('busy').touch(generateRecords(manyRecords).map(({ id }) => id));
    const running = await sync.requestPaused();
    await upgrade(sync, 'busy', { primaryKey: ['id', 'name'] });
    upstream.resume();
    expect((await sync.ended(running)).status).toBe('canceled');
    expect(await outcome(sync)).toMatchObject({ status: 'succeeded', recordsIn: manyRecords, recordsOut: manyRecords });
    expect(await outcome(sync)).toMatchObject({ status: 'succeeded', recordsOut: 0 });
  });
});

/** Publishes version 2.0.0 of the collection's spec with a change to its resource, and upgrades the connection to it. */
async function upgrade({ connectionId }: Sync, key: string, change: object): Promise<void> {
  const { body: version } = await call('GET', `/specs/${key}/versions/1.0.0`);
  const { metadata, resources, ...rest } = version.specJson;
  const changed = resources.map((resource: object) => ({ ...resource, ...change }));
  const document = { ...rest, metadata: { ...metadata, version: '2.0.0' }, resources: changed };
  await call('POST', '/specs', { body: document });
  await call('POST', `/specs/${key}/versions/2.0.0/publish`);
  const { status, body } = await call('POST', `/connections/${connectionId}/upgrade-spec`, {
    body: { toVersion: '2.0.0' },
  });
  expect({ status, applied: body.applied }).toEqual({ status: 200, applied: true });
}

async function outcome(sync: Sync): Promise<Record<string, unknown>> {
  const { status, statsJson, watermarkBefore } = await sync.ended(await sync.request());
  return { status, watermarkBefore, ...statsJson };
}

async function rowsAt({ destination }: Sync, table: string): Promise<number> {
  const [row] = await destination.query<{ count: string }>(`select count(*) from ${table}`);
  return Number(row?.count);
}

async function secretsOf(connectionId: string): Promise<number> {
  const secrets = shared().stack.db.selectFrom('connectionSecrets').where('connectionId', '=', connectionId);
  return (await secrets.select('kind').execute()).length;
}

/** Tables whose rows outlive what they name. */
const outliving: ReadonlySet<string> = new Set(['idempotency_keys', 'webhook_events']);

/** The other tables in which a row names the connection, or one of its lanes. */
async function rowsNaming(connectionId: string): Promise<readonly string[]> {
  const { db } = shared().stack;
  const tables = (await db.introspection.getTables()).map(({ name }) => name);
  const found = tables.map(async (name) => {
    const { rows } =
      await sql`select from ${sql.table(name)} t where t::text like ${`%${connectionId}%`} limit 1`.execute(db);
    return rows.length > 0 && !outliving.has(name) ? [name] : [];
  });
  return (await Promise.all(found)).flat();
}

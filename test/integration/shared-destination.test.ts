/** Two orgs and one DEFAULT_DESTINATION: neither reaches what the other has there. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openAuditedDestination } from '../support/destinations/audit.ts';
import { figure } from '../support/security/figure.ts';
import type { TestOrg } from '../support/service/api.ts';
import { useStack } from '../support/service/use-stack.ts';
import { connectTable, type TableSyncOptions, tableSpec } from '../support/sync/table-sync.ts';
import { generateRecords } from '../support/upstream/upstream.ts';

const standard = await openAuditedDestination();
afterAll(() => standard[Symbol.asyncDispose]());

const declared = { kind: 'postgres', url: standard.url, ssl: 'disable' };

const names = ['contacts', 'orders', 'wide', 'whole', 'whole_own', 'placed', 'before', 'split'];
const shared = useStack(
  { collections: Object.fromEntries(names.map((name) => [name, generateRecords(30)])) },
  { env: { DEFAULT_DESTINATION: JSON.stringify({ ...declared, schema: 'shared' }) } },
);

let acme: TestOrg;
let evil: TestOrg;
beforeAll(async () => {
  const { stack } = shared();
  [acme, evil] = [await stack.newOrg(), await stack.newOrg()];
});

const connect = (org: TestOrg, options: TableSyncOptions) => connectTable(org, shared().upstream, options);
const placeOf = ({ orgId }: TestOrg) => `shared_${orgId}`;
const columnsOf = async (schema: string, table: string) =>
  await standard.query<{ name: string; type: string }>(
    `select attname as name, format_type(atttypid, atttypmod) as type from pg_attribute
     where attrelid = '${schema}.${table}'::regclass and attnum > 0`,
  );

/** Notes one way by which an org reaches for a table of another. */
const way = (isReached: boolean) => figure('foreignTables', { count: Number(isReached), of: 1 });

describe('two orgs at one default destination', () => {
  it('have their rows in schemas of their own, although their specs name the same table', async () => {
    const [own, other] = [
      await connect(acme, { collection: 'contacts' }),
      await connect(evil, { collection: 'contacts', transform: "{ 'id': 'INJECTED' & id }" }),
    ];
    expect(await own.sync()).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 30 } });
    expect(await other.sync()).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 30 } });
    const injected = await standard.count(`${placeOf(acme)}.contacts where _connection_id <> '${own.connectionId}'`);
    way(injected > 0);
    expect(injected).toBe(0);
    expect(await standard.count(`${placeOf(acme)}.contacts`)).toBe(30);
    expect(await standard.count(`${placeOf(evil)}.contacts`)).toBe(30);
  });

  it('take no column of each other: neither by another type, nor by using them up', async () => {
    const fields = `$merge([{ 'id': id, 'amount': true }, $merge([1..990].{ 'f' & $string($): 1 })])`;
    for (const collection of ['orders', 'wide']) {
      const squatter = await connect(evil, { collection, transform: fields });
      expect(await squatter.sync()).toMatchObject({ status: 'succeeded' });
      const run = await (await connect(acme, { collection })).sync();
      way(run.status !== 'succeeded');
      expect(run).toMatchObject({ status: 'succeeded', error: null, statsJson: { recordsOut: 30 } });
      const columns = await columnsOf(placeOf(acme), collection);
      expect(columns.map(({ name }) => name)).toEqual(expect.arrayContaining(['name', 'amount', 'updated_at']));
      expect(columns.length).toBeLessThan(12);
      expect(columns.find(({ name }) => name === 'amount')?.type).not.toBe('boolean');
    }
  });

  it.each([
    ['the default destination', 'whole', undefined],
    ['one that both declare', 'whole_own', { ...declared, schema: 'both' }],
  ])('do not drop what the other gathers to replace its table at %s', async (_case, collection, destination) => {
    const { upstream } = shared();
    const target = { mode: 'replace' };
    const options = { collection, target, perPage: 10, ...(destination && { destination }) };
    const own = await connect(acme, options);
    expect(await own.sync()).toMatchObject({ status: 'succeeded' });
    upstream.pause();
    const asked = upstream.requested(upstream.journal.length + 1);
    const { body } = await own.request();
    await asked;
    const other = await connect(evil, { ...options, transform: "{ 'id': id, 'more': 1 }" });
    const begun = await other.request();
    upstream.resume();
    const [replaced, tried] = [await own.ended(body.id), await other.ended(begun.body.id)];
    way(replaced.status !== 'succeeded');
    expect(replaced).toMatchObject({ status: 'succeeded', statsJson: { recordsIn: 30 } });
    expect(tried.status).toBe(destination ? 'failed' : 'succeeded');
    if (!destination) return;
    expect(tried.error).toMatchObject({
      code: 'destination_rejected',
      message: expect.stringContaining('belongs to another org of this service'),
    });
    expect(JSON.stringify(tried)).not.toContain(acme.orgId);
    expect(await columnsOf('both', collection)).not.toContainEqual(expect.objectContaining({ name: 'more' }));
  });

  it('name no schema there: a sync, a schedule, a test and a plan say why', async () => {
    const { upstream } = shared();
    const { call } = evil;
    const reason = expect.stringContaining('each org has a schema of its own');
    const options = { collection: 'placed', target: { schema: placeOf(acme), table: 'contacts' } };
    const { connectionId, request } = await connect(evil, options);
    const refused = await request();
    way(refused.status === 202);
    expect(refused).toMatchObject({ status: 409, body: { error: { code: 'conflict', message: reason } } });
    const at = `/connections/${connectionId}`;
    const schedule = { body: { resourceKey: 'placed', cron: '0 0 1 1 *' } };
    expect(await call('POST', `${at}/schedules`, schedule)).toMatchObject({ status: 409 });
    const tested = await call('POST', `${at}/test`, { body: {} });
    expect(tested.body.steps.at(-1)).toMatchObject({
      step: 'destination',
      ok: false,
      code: 'spec_invalid',
      message: reason,
    });
    await call('POST', '/specs', { body: tableSpec(upstream, options, '1.1.0') });
    await call('POST', '/specs/placed/versions/1.1.0/publish');
    const planned = await call('POST', `${at}/upgrade-spec`, { body: { toVersion: '1.1.0', dryRun: true } });
    expect(planned.body.plan.issues).toMatchObject([{ path: 'resources.0.target.schema', message: reason }]);
    expect(await standard.count(`${placeOf(acme)}.contacts`)).toBe(30);
  });
});

describe('a table in the schema that all orgs had before', () => {
  /** Moves what a lane has into that schema, as a version before this one left it there. */
  const moveBack = async (org: TestOrg, table: string) => {
    await standard.query(`create schema if not exists shared`);
    await standard.query(`create table if not exists shared._css_checkpoint
      (like ${placeOf(org)}._css_checkpoint including all)`);
    await standard.query(`insert into shared._css_checkpoint select * from ${placeOf(org)}._css_checkpoint
      where table_oid = '${placeOf(org)}.${table}'::regclass`);
    await standard.query(`delete from ${placeOf(org)}._css_checkpoint where lane like '%/${table}'`);
    await standard.query(`delete from ${placeOf(org)}._css_tables where table_name = '${table}'`);
    await standard.query(`alter table ${placeOf(org)}.${table} set schema shared`);
  };

  it('stays in use by its lane, which delivers nothing again, and by the org from then on', async () => {
    const { upstream } = shared();
    const own = await connect(acme, { collection: 'before' });
    await own.sync();
    await moveBack(acme, 'before');
    upstream.store('before').touch(['r000001'], { name: 'changed' });
    expect(await own.sync()).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 1 } });
    expect(await standard.count(`shared.before where name = 'changed'`)).toBe(1);
    expect(await standard.count('shared.before')).toBe(30);
    const [owner] = await standard.query("select org_id from shared._css_tables where table_name = 'before'");
    expect(owner).toEqual({ org_id: acme.orgId });
    const beside = await connect(acme, { collection: 'before', specKey: 'beside' });
    expect(await beside.sync()).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 30 } });
    expect(await standard.count('shared.before')).toBe(60);
    const other = await connect(evil, { collection: 'before' });
    expect(await other.sync()).toMatchObject({ status: 'succeeded' });
    way((await standard.count('shared.before')) !== 60);
    expect(await standard.count(`${placeOf(evil)}.before`)).toBe(30);
  });

  it('that two orgs wrote is of the first; the run of the other says so, and begins nothing anew elsewhere', async () => {
    const { upstream } = shared();
    const lanes = [await connect(acme, { collection: 'split' }), await connect(evil, { collection: 'split' })] as const;
    for (const lane of lanes) await lane.sync();
    await moveBack(acme, 'split');
    await standard.query(`insert into shared._css_checkpoint select lane, fence, 'shared.split'::regclass, generation,
      run_id, batch_no, receipt, updated_at from ${placeOf(evil)}._css_checkpoint where lane like '%/split'`);
    upstream.store('split').touch(['r000001'], { name: 'changed' });
    expect(await lanes[0].sync()).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 1 } });
    expect(await lanes[1].sync()).toMatchObject({
      status: 'failed',
      error: { code: 'destination_rejected', message: expect.stringContaining('belongs to another org') },
    });
    expect(await standard.count('shared.split')).toBe(30);
  });
});

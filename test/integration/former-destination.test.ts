import { expect, test } from 'vitest';
import { openAuditedDestination } from '../support/destinations/audit.ts';
import { hookSecret, useWebhookStack } from '../support/destinations/webhook-sync.ts';
import { type Account, openAccount } from '../support/sync/account.ts';
import { createScriptedApi } from '../support/upstream/scripted-api.ts';

const api = createScriptedApi();
const shared = useWebhookStack({ reply: api.reply });

interface Row {
  readonly id: number;
  readonly name: string;
}

const before: readonly Row[] = [
  { id: 1, name: 'a' },
  { id: 2, name: 'a' },
];
const after: readonly Row[] = [
  { id: 1, name: 'b' },
  { id: 2, name: 'a' },
  { id: 3, name: 'a' },
];

/** A connection that has delivered `before`; the API has `after` once it was delivered elsewhere. */
async function delivered(key: string, resource: object = {}) {
  let rows = before;
  api.serve(key, () => ({ body: rows }));
  const { stack, upstream } = shared();
  const of = await openAccount(stack, { key, baseUrl: upstream.url, resources: [{ key, ...resource }] });
  await of.sync(key);
  return {
    of,
    move: () => {
      rows = after;
    },
  };
}

/** Pins the connection to a version of its spec with another destination. */
async function deliverInto(of: Account, { key, version, destination }: Into): Promise<void> {
  const { call } = shared().stack.org;
  const { body } = await call('GET', `/specs/${key}/versions/1.0.0`);
  const { metadata } = body.specJson;
  await call('POST', '/specs', { body: { ...body.specJson, metadata: { ...metadata, version }, destination } });
  await call('POST', `/specs/${key}/versions/${version}/publish`);
  await of.ask('POST', '/upgrade-spec', { toVersion: version });
}

interface Into {
  readonly key: string;
  readonly version: string;
  readonly destination: object;
}

const toDatabase = (url: string) => ({ secrets: { testDatabase: url } });

test('a database that a connection comes back to has what was delivered to another one meanwhile', async () => {
  const { of, move } = await delivered('back');
  await using _closed = of;
  await using other = await openAuditedDestination();
  await of.ask('PATCH', '', toDatabase(other.url));
  move();
  expect((await of.sync('back')).statsJson).toMatchObject({ recordsOut: 3 });
  await of.ask('PATCH', '', toDatabase(of.destination.url));
  expect((await of.sync('back')).statsJson).toMatchObject({ recordsOut: 3 });
  expect(await of.rows('back')).toEqual(after.map(({ name }) => expect.objectContaining({ name })));
  expect((await of.sync('back')).statsJson).toMatchObject({ recordsOut: 0 });
});

test('a schema that a spec comes back to has what was delivered to another one meanwhile', async () => {
  const { of, move } = await delivered('schema-back', { target: { table: 'schema_back' } });
  await using _closed = of;
  const destination = { kind: 'postgres', url: '{{ secrets.testDatabase }}', ssl: 'disable' };
  await deliverInto(of, { key: 'schema-back', version: '2.0.0', destination: { ...destination, schema: 'other' } });
  move();
  await of.sync('schema-back');
  expect(await of.rows('other.schema_back')).toHaveLength(3);
  await of.ask('POST', '/upgrade-spec', { toVersion: '1.0.0' });
  await of.sync('schema-back');
  expect(await of.rows('schema_back')).toEqual(after.map(({ name }) => expect.objectContaining({ name })));
});

test('a database and a receiver that a connection goes back and forth between have all that changed meanwhile', async () => {
  const { of, move } = await delivered('hook-back', { target: { table: 'hook_back' } });
  await using _closed = of;
  const { receiver } = shared();
  const destination = { kind: 'webhook', url: `${receiver.url}/hook-back`, signingSecret: hookSecret };
  await deliverInto(of, { key: 'hook-back', version: '2.0.0', destination });
  expect((await of.sync('hook-back')).statsJson).toMatchObject({ recordsOut: 2 });
  move();
  await of.ask('POST', '/upgrade-spec', { toVersion: '1.0.0' });
  expect((await of.sync('hook-back')).statsJson).toMatchObject({ recordsOut: 3 });
  expect(await of.rows('hook_back')).toEqual(after.map(({ name }) => expect.objectContaining({ name })));
  await of.ask('POST', '/upgrade-spec', { toVersion: '2.0.0' });
  expect((await of.sync('hook-back')).statsJson).toMatchObject({ recordsOut: 3 });
  expect(receiver.rows('hook-back').map(({ data }) => data['name'])).toEqual(after.map(({ name }) => name));
});

test('a receiver whose key in the query of its address is rotated gets nothing again', async () => {
  const { of } = await delivered('rotated');
  await using _closed = of;
  const { receiver } = shared();
  for (const [version, sent] of [
    ['2.0.0', 2],
    ['3.0.0', 0],
  ] as const) {
    const destination = { kind: 'webhook', url: `${receiver.url}/rotated?key=${version}`, signingSecret: hookSecret };
    await deliverInto(of, { key: 'rotated', version, destination });
    expect((await of.sync('rotated')).statsJson).toMatchObject({
      recordsOut: sent,
    });
  }
});

test('a receiver that a header of a param tells apart has everything, whoever was behind its address before', async () => {
  api.serve('accounts', () => ({ body: before }));
  const { stack, upstream, receiver } = shared();
  const options = { key: 'accounts', baseUrl: upstream.url, resources: [{ key: 'accounts' }] };
  await using of = await openAccount(stack, { ...options, params: { account: ['a'], key: ['1'] } });
  await of.sync('accounts');
  const headers = { 'X-Tenant': '{{ params.account[0] }}', 'X-Version': '1' };
  const destination = { kind: 'webhook', url: `${receiver.url}/accounts`, signingSecret: hookSecret, headers };
  await deliverInto(of, { key: 'accounts', version: '2.0.0', destination });
  const sent = async () => (await of.sync('accounts')).statsJson;
  expect(await sent()).toMatchObject({ recordsOut: 2 });
  expect(await sent()).toMatchObject({ recordsOut: 0 });
  await of.ask('PATCH', '', { params: { account: ['b'], key: ['1'] } });
  expect(await sent()).toMatchObject({ recordsOut: 2 });
  await of.ask('PATCH', '', { params: { account: ['b'], key: ['2'] } });
  expect(await sent()).toMatchObject({ recordsOut: 0 });
});

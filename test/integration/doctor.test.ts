import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http2';
import { promisify } from 'node:util';
import { type Kysely, sql } from 'kysely';
import { expect, it } from 'vitest';
import type { Database } from '../../db/schema.ts';
import type { Finding } from '../../src/admin/doctor/finding.ts';
import { createSecretBox } from '../../src/core/crypto/secret-box.ts';
import { searchAttributes } from '../../workflows/contract.ts';
import { plantSealedValues } from '../support/security/sealed-values.ts';
import { runAdmin } from '../support/service/admin.ts';
import { openTestDatabase } from '../support/service/database.ts';
import { consulted, type Diagnosis, diagnosisFrom } from '../support/service/diagnosis.ts';
import { eventually } from '../support/service/eventually.ts';
import { insertTestConnection } from '../support/service/rows.ts';
import { unusedPort } from '../support/service/temporal-dev-server.ts';
import { useStack } from '../support/service/use-stack.ts';
import { createSync } from '../support/sync/sync.ts';
import { generateRecords } from '../support/upstream/upstream.ts';

const shared = useStack({ collections: { contacts: generateRecords(10), deals: generateRecords(10) } });

const envWith = (changes: NodeJS.ProcessEnv) => ({ ...shared().stack.env, ...changes });

async function diagnosis(changes: NodeJS.ProcessEnv = {}): Promise<Diagnosis> {
  const { json, failed = false } = await consulted(envWith(changes));
  return diagnosisFrom(JSON.stringify(json), Number(failed));
}

/** A database of its own, in the state that a test makes. */
async function diagnosisOf(spoil: (db: Kysely<Database>) => Promise<unknown>): Promise<Diagnosis> {
  await using database = await openTestDatabase();
  await spoil(database.db);
  return await diagnosis({ DATABASE_URL: database.url });
}

const temporalCli = (args: readonly string[]) =>
  promisify(execFile)(process.env['TEMPORAL_CLI'] ?? '', [...args, '--address', shared().stack.temporal.address]);

/** Runs the command that a remedy ends with, as its reader would. */
const runRemedy = (finding: Finding | undefined) =>
  temporalCli((/ temporal (operator .*)$/.exec(finding?.remedy ?? '')?.[1] ?? '').split(' '));

const newKey = () => randomBytes(32).toString('base64');

it('finds no fault in a service that works, and says what nobody can know', async () => {
  await using sync = await createSync(shared().stack, { upstream: shared().upstream, collection: 'contacts' });
  await sync.ended(await sync.request());
  const command = await runAdmin(shared().stack.env, 'doctor', '--json');
  expect(command.stderr).toBe('');
  const { exitCode, findings } = diagnosisFrom(command.stdout, command.exitCode);
  expect({ exitCode, checks: Object.keys(findings).toSorted() }).toEqual({
    exitCode: 0,
    checks: ['temporal.fairness'],
  });
  expect(findings['temporal.fairness']?.status).toBe('unknown');
});

it('prints a line per check, and under it what to do', async () => {
  const { exitCode, stdout } = await runAdmin(envWith({ TEMPORAL_NAMESPACE: 'nowhere' }), 'doctor');
  expect(exitCode).toBe(1);
  expect(stdout).toContain('ok       database.reached: The control database responds.\n');
  expect(stdout).toContain(
    'FAULT    temporal.namespace: There is no namespace nowhere.\n         Set TEMPORAL_NAMESPACE, or',
  );
  expect(stdout).toMatch(/There are faults\.\n$/);
});

it('prints faults as one document, too, and exits 1', async () => {
  const { exitCode, stdout } = await runAdmin(envWith({ PORT: 'eighty' }), 'doctor', '--json');
  expect(diagnosisFrom(stdout, exitCode)).toEqual({
    exitCode: 1,
    findings: { configuration: expect.objectContaining({ detail: expect.stringContaining('PORT') }) },
  });
});

it.each([
  ['a variable without its form', { PORT: 'eighty' }, 'PORT'],
  ['a key that is too short', { SECRETS_KEYS: 'k1:c2hvcnQ=' }, 'SECRETS_KEYS'],
  ['an address of a database that is none', { DATABASE_URL: 'mysql://127.0.0.1/x' }, 'DATABASE_URL'],
  ['an entry of the allow list that is none', { EGRESS_ALLOW: '127.0.0.1:99999' }, 'EGRESS_ALLOW'],
])('finds in the configuration %s', async (_what, changes, named) => {
  const { exitCode, findings } = await diagnosis(changes);
  expect({ exitCode, checks: Object.keys(findings) }).toEqual({ exitCode: 1, checks: ['configuration'] });
  expect(findings['configuration']?.detail).toContain(named);
});

it('finds that the database is away, and still looks at the rest', async () => {
  const { exitCode, findings } = await diagnosis({
    DATABASE_URL: `postgres://nobody:x@127.0.0.1:${await unusedPort()}/x`,
  });
  expect(exitCode).toBe(1);
  expect(findings['database.reached']).toMatchObject({
    status: 'fault',
    detail: expect.stringContaining('the connection was refused'),
  });
  expect(findings).toHaveProperty(['temporal.fairness']);
});

it('finds a database that is too old, has another time and too few connections', async () => {
  const { exitCode, findings } = await diagnosisOf(async (db) => {
    // The real server, seen through functions of these names that come first in the search path.
    await sql`
      create function current_setting(name text) returns text language sql as $$
        select case name when 'server_version_num' then '130012' when 'max_connections' then '12'
          else pg_catalog.current_setting(name) end $$`.execute(db);
    await sql`
      create function clock_timestamp() returns timestamptz language sql as $$
        select pg_catalog.clock_timestamp() - interval '90 seconds' $$`.execute(db);
    const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(db);
    await sql`alter database ${sql.id(rows[0]?.name ?? '')} set search_path = public, pg_catalog`.execute(db);
  });
  expect(exitCode).toBe(1);
  expect(findings['database.version']).toMatchObject({ status: 'fault', detail: 'PostgreSQL 13 is too old.' });
  expect(findings['database.clock']).toMatchObject({
    status: 'fault',
    detail: expect.stringMatching(/differ by (89|90|91) s/),
  });
  expect(findings['database.connections']?.status).toBe('warning');
});

it('finds migrations that are missing, and then looks at no table', async () => {
  const { exitCode, findings } = await diagnosisOf((db) => sql`drop table kysely_migration`.execute(db));
  expect(exitCode).toBe(1);
  expect(findings['database.migrations']?.remedy).toBe('Run "npm run migrate".');
  expect(findings).not.toHaveProperty(['keys.signing']);
});

it('says in production that only this machine reaches PUBLIC_URL, and nothing about an address that others reach', async () => {
  const keys = Object.fromEntries(
    ['SECRETS_KEYS', 'OAUTH_STATE_KEYS', 'EMBED_KEYS'].map((name) => [name, `k1:${newKey()}`]),
  );
  const production = { ...keys, NODE_ENV: 'production', PUBLIC_URL: '' };
  const unset = await diagnosis(production);
  expect(unset.findings['api.public_url']).toMatchObject({
    status: 'warning',
    detail: expect.stringContaining('PUBLIC_URL is http://localhost:'),
  });
  const { findings } = await diagnosis({ ...production, PUBLIC_URL: 'https://sync.example.com' });
  expect(findings).not.toHaveProperty(['api.public_url']);
});

it.each([
  ['', 'EGRESS_ALLOW is empty: no private address is allowed.'],
  ['127.0.0.1:9,10.0.0.0/8:5432', 'EGRESS_ALLOW has 2 entries; every name among them (0) has an address.'],
])('counts the entries of EGRESS_ALLOW "%s"', async (EGRESS_ALLOW, detail) => {
  const { lines } = await consulted(envWith({ EGRESS_ALLOW }));
  expect(lines.join('\n')).toContain(detail);
});

it('finds migrations of a later version', async () => {
  const { findings } = await diagnosisOf((db) =>
    sql`insert into kysely_migration (name, timestamp) values ('9999_later', 'x')`.execute(db),
  );
  expect(findings['database.migrations']).toMatchObject({
    status: 'fault',
    detail: expect.stringContaining('9999_later'),
  });
});

it('finds rights that the user lacks', async () => {
  await using database = await openTestDatabase();
  const role = `reader_${randomBytes(6).toString('hex')}`;
  await sql`create role ${sql.id(role)} login password 'reader'`.execute(database.db);
  try {
    await sql`grant select on all tables in schema public to ${sql.id(role)}`.execute(database.db);
    await sql`revoke create on schema public from public`.execute(database.db);
    const url = new URL(database.url);
    Object.assign(url, { username: role, password: 'reader' });
    const { exitCode, findings } = await diagnosis({ DATABASE_URL: url.href });
    expect(exitCode).toBe(1);
    expect(findings['database.rights']?.detail).toMatch(
      /may not read, write or partition .* and \d+ more; it may not create/,
    );
  } finally {
    await sql`drop owned by ${sql.id(role)}`.execute(database.db);
    await sql`drop role ${sql.id(role)}`.execute(database.db);
  }
});

it('finds that the keys do not decrypt what is stored', async () => {
  const { exitCode, findings } = await diagnosis({ SECRETS_KEYS: `k1:${newKey()}` });
  expect(exitCode).toBe(1);
  expect(findings['keys.secrets']).toMatchObject({
    status: 'fault',
    detail: expect.stringContaining('k1 is missing or has other bytes'),
  });
  expect(findings['keys.secrets']?.remedy).toContain('docs/operations/lost-keys.md');
});

it('finds stored secrets that need a key which is gone', async () => {
  const k3 = createSecretBox([{ id: 'k3', key: new Uint8Array(randomBytes(32)) }]);
  const { exitCode, findings } = await diagnosisOf(async (db) =>
    plantSealedValues(db, k3, await insertTestConnection(db)),
  );
  expect(exitCode).toBe(1);
  expect(findings['keys.stored']).toMatchObject({
    status: 'fault',
    detail: expect.stringContaining('1 of tokens need k3'),
  });
});

it('finds that Temporal is away', async () => {
  const { exitCode, findings } = await diagnosis({ TEMPORAL_ADDRESS: `127.0.0.1:${await unusedPort()}` });
  expect(exitCode).toBe(1);
  expect(findings['temporal.reached']).toMatchObject({ status: 'fault', detail: 'Temporal does not respond.' });
});

it('finds that Temporal refuses the credentials', async () => {
  await using server = createServer();
  server.on('stream', (stream) => {
    const status = { 'grpc-status': '16', 'grpc-message': 'no' };
    stream.respond({ ':status': 200, 'content-type': 'application/grpc', ...status }, { endStream: true });
  });
  const port = await unusedPort();
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const { findings } = await diagnosis({ TEMPORAL_ADDRESS: `127.0.0.1:${port}` });
  expect(findings['temporal.reached']).toMatchObject({ status: 'fault', detail: 'Temporal refuses the credentials.' });
});

it('finds no namespace, queues without a worker and missing search attributes, and says which commands make them', async () => {
  const env = { TEMPORAL_NAMESPACE: `doctor-${randomBytes(4).toString('hex')}` };
  const bare = await diagnosis(env);
  expect(bare.exitCode).toBe(1);
  expect(bare.findings['temporal.namespace']?.status).toBe('fault');
  await runRemedy(bare.findings['temporal.namespace']);
  // Temporal may know a namespace some seconds before it lists what the namespace has.
  const made = await eventually('the namespace is there', async () => {
    const seen = await diagnosis(env);
    return seen.findings['temporal.search_attributes']?.status === 'warning' && seen;
  });
  expect(made.exitCode).toBe(1);
  expect(made.findings['temporal.workers']).toMatchObject({
    status: 'fault',
    detail: expect.stringContaining('css-control, css-sync, css-webhooks'),
  });
  await runRemedy(made.findings['temporal.search_attributes']);
  await eventually('the search attributes are there', async () => {
    const { findings } = await diagnosis(env);
    return findings['temporal.search_attributes'] === undefined;
  });
});

it('finds a search attribute of another type', async () => {
  const namespace = `doctor-${randomBytes(4).toString('hex')}`;
  await temporalCli(['operator', 'namespace', 'create', '--namespace', namespace]);
  const attribute = ['--name', searchAttributes.orgId, '--type', 'Int'];
  await eventually('the namespace takes an attribute', () =>
    temporalCli(['operator', 'search-attribute', 'create', '--namespace', namespace, ...attribute]).then(() => true),
  );
  await eventually('the doctor finds it', async () => {
    const { exitCode, findings } = await diagnosis({ TEMPORAL_NAMESPACE: namespace });
    return exitCode === 1 && findings['temporal.search_attributes']?.status === 'fault';
  });
});

it('warns of keys that production needs for what is not in use', async () => {
  const { exitCode, findings } = await diagnosis({ NODE_ENV: 'production' });
  expect(exitCode).toBe(0);
  expect(findings['keys.signing']).toMatchObject({
    status: 'warning',
    detail: expect.stringContaining('OAUTH_STATE_KEYS'),
  });
});

it('finds that Temporal has another time, by the newest run', async () => {
  const { stack, upstream } = shared();
  await using sync = await createSync(stack, { upstream, collection: 'deals' });
  const run = await sync.request();
  await sync.ended(run);
  await stack.db
    .updateTable('runs')
    .set({ createdAt: sql`created_at - interval '5 minutes'`, dispatchedAt: sql`dispatched_at - interval '5 minutes'` })
    .where('id', '=', run)
    .execute();
  const { exitCode, findings } = await diagnosis();
  expect(exitCode).toBe(1);
  expect(findings['temporal.clock']).toMatchObject({
    status: 'fault',
    detail: expect.stringMatching(/differ by (299|300|301) s/),
  });
});

it('does not know the time of Temporal before the first run', async () => {
  const { findings } = await diagnosisOf(async () => undefined);
  expect(findings['temporal.clock']?.status).toBe('unknown');
});

it('finds hosts of the allow list without an address, and a proxy that does not listen', async () => {
  const { exitCode, findings } = await diagnosis({
    EGRESS_ALLOW: 'nowhere.invalid:443',
    EGRESS_PROXY: `http://127.0.0.1:${await unusedPort()}`,
  });
  expect(exitCode).toBe(1);
  expect(findings['egress.allow']).toMatchObject({
    status: 'fault',
    detail: expect.stringContaining('nowhere.invalid:443'),
  });
  expect(findings['egress.proxy']?.status).toBe('fault');
});

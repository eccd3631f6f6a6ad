import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { openAuditedDestination } from '../support/audit.ts';
import { eventually } from '../support/eventually.ts';
import type { Stack } from '../support/stack.ts';
import { useStack } from '../support/use-stack.ts';

/** Planted where a spec may use secrets; no two share a part. */
const planted = {
  headerKey: 'hk/Zm9vYmFy+quux"1',
  bearer: 'br-7f3a%20&wobble=1',
  user: 'us:olivia@example',
  password: 'pw-Ünïcode ~ tilde',
  queryKey: 'qk?1=2#frag-mark',
  databasePassword: 'unused-db-pass/42',
};

/** What an upstream may answer with whatever it was sent: in a record, an invalid record, an error, a header. */
const echoes = ['record', 'invalid', 'refusal'] as const;

const shared = useStack({
  answer: ({ url, headers, nth }) => {
    const [, kind] = url.split(/[/?]/);
    if (!echoes.some((known) => known === kind)) return undefined;
    const echo = { id: kind === 'invalid' ? null : nth, url, headers, again: JSON.stringify(headers) };
    const withHeader = { 'x-echo': `${headers['authorization'] ?? ''} ${headers['x-api-key'] ?? ''}` };
    if (kind === 'refusal') return { status: 400, headers: withHeader, body: JSON.stringify({ error: echo }) };
    return { headers: withHeader, body: JSON.stringify([echo]) };
  },
});

describe('planted secrets', () => {
  it.each(authKinds())('of auth $kind reach no answer, log, table or history', async ({ kind, auth }) => {
    const { stack } = shared();
    const connectionId = await connect(kind, auth);
    for (const resource of echoes) await syncToEnd(connectionId, resource);
    const places = {
      ...(await answersAbout(stack, connectionId)),
      logs: stack.tails(),
      tables: await dump(stack),
      histories: await histories(stack, connectionId),
    };
    // The search itself must be able to find something.
    expect(places.tables).toContain(connectionId);
    expect(places.histories).toContain(connectionId);
    for (const [place, text] of Object.entries(places)) {
      const found = Object.entries(planted).filter(([, secret]) => spellings(secret).some((s) => text.includes(s)));
      expect({ place, found: found.map(([name]) => name) }).toEqual({ place, found: [] });
    }
  });
});

function authKinds() {
  return [
    {
      kind: 'api-key-header',
      auth: { kind: 'api_key', in: 'header', name: 'x-api-key', value: '{{ secrets.headerKey }}' },
    },
    { kind: 'api-key-query', auth: { kind: 'api_key', in: 'query', name: 'k', value: '{{ secrets.queryKey }}' } },
    { kind: 'bearer', auth: { kind: 'bearer', token: '{{ secrets.bearer }}' } },
    { kind: 'basic', auth: { kind: 'basic', username: '{{ secrets.user }}', password: '{{ secrets.password }}' } },
    {
      kind: 'headers',
      auth: { kind: 'headers', headers: { 'x-one': 'a {{ secrets.headerKey }}', 'x-two': '{{ secrets.bearer }}' } },
    },
  ];
}

async function connect(kind: string, auth: unknown): Promise<string> {
  const { stack, upstream } = shared();
  const { call, workspaceId } = stack.org;
  const destination = await openAuditedDestination();
  const resource = (key: string) => ({
    key,
    primaryKey: 'id',
    request: { path: `/${key}` },
    onInvalid: 'quarantine',
    target: { table: key },
  });
  const spec = {
    metadata: { key: kind, name: kind, version: '1.0.0' },
    connectionParams: [
      ...Object.keys(planted).map((key) => ({ key, type: 'string', secret: true })),
      { key: 'databaseUrl', type: 'string', secret: true },
    ],
    auth,
    http: { baseUrl: upstream.url },
    resources: echoes.map(resource),
    destination: { kind: 'postgres', url: '{{ secrets.databaseUrl }}', ssl: 'disable' },
  };
  const ask = async (path: string, body?: unknown) => {
    const answer = await call('POST', path, { body });
    expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(400);
    return answer.body;
  };
  await ask('/specs', spec);
  await ask(`/specs/${kind}/versions/1.0.0/publish`);
  const { id } = await ask('/connections', {
    workspaceId,
    specKey: kind,
    specVersion: '1.0.0',
    displayName: kind,
    params: {},
    secrets: { ...planted, databaseUrl: destination.url },
  });
  await ask(`/connections/${id}/activate`);
  return id;
}

async function syncToEnd(connectionId: string, resource: string): Promise<void> {
  const { call } = shared().stack.org;
  const { body } = await call('POST', `/connections/${connectionId}/sync`, { body: { resource } });
  const run = await eventually('the run ends', async () => {
    const row = (await call('GET', `/runs/${body.id}`)).body;
    return row.finishedAt !== null && row;
  });
  expect(run.status).toBe({ record: 'succeeded', invalid: 'partial', refusal: 'failed' }[resource]);
}

async function answersAbout(stack: Stack, connectionId: string): Promise<Record<string, string>> {
  const { call } = stack.org;
  const read = async (path: string) => JSON.stringify((await call('GET', path)).body);
  const runs: readonly { readonly id: string }[] = (await call('GET', `/runs?connectionId=${connectionId}`)).body;
  expect(runs).toHaveLength(echoes.length);
  return {
    connection: await read(`/connections/${connectionId}`),
    connections: await read('/connections'),
    runs: JSON.stringify(runs),
    calls: (await Promise.all(runs.map(({ id }) => read(`/runs/${id}/calls`)))).join('\n'),
    quarantine: await read(`/quarantine?connectionId=${connectionId}`),
  };
}

/** Every row of every table of the control database, as text. */
async function dump({ db }: Stack): Promise<string> {
  const tables = await db.introspection.getTables();
  const texts = tables.map(async ({ name }) => {
    const { rows } = await sql<{ row: string }>`select t::text as row from ${sql.table(name)} t`.execute(db);
    return rows.map(({ row }) => row).join('\n');
  });
  return (await Promise.all(texts)).join('\n');
}

/** The histories of a connection's runs, with their payloads decoded. */
async function histories({ temporal, db }: Stack, connectionId: string): Promise<string> {
  const runs = await db
    .selectFrom('runs')
    .select(['id', 'resourceKey'])
    .where('connectionId', '=', connectionId)
    .execute();
  const texts = runs.map(async ({ id, resourceKey }) => {
    const handle = temporal.client.workflow.getHandle(`sync:${connectionId}:${resourceKey}:${id}`);
    const decoded = (_key: string, value: unknown) =>
      value instanceof Uint8Array ? Buffer.from(value).toString() : value;
    return JSON.stringify({ history: await handle.fetchHistory(), info: await handle.describe() }, (key, value) =>
      typeof value === 'bigint' ? String(value) : decoded(key, value),
    );
  });
  return (await Promise.all(texts)).join('\n');
}

/** The ways in which a secret may be written down, made independently of the redactor. */
function spellings(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const aligned = [0, 1, 2].map((skip) => bytes.subarray(skip, skip + Math.floor((bytes.length - skip) / 3) * 3));
  return [
    secret,
    encodeURIComponent(secret),
    new URLSearchParams({ v: secret }).toString().slice(2),
    JSON.stringify(secret).slice(1, -1),
    JSON.stringify(JSON.stringify(secret)).slice(3, -3),
    bytes.toString('hex'),
    bytes.toString('hex').toUpperCase(),
    ...aligned.flatMap((part) => [part.toString('base64'), part.toString('base64url')]),
  ];
}

import { createHash, randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { formatKeyRing } from '../../src/config/key-ring.ts';
import { canonicalJson } from '../../src/core/json/canonical-json.ts';
import { openAuditedDestination } from '../support/destinations/audit.ts';
import { dumpTables, searchForSecrets } from '../support/security/planted-secrets.ts';
import { runAdmin } from '../support/service/admin.ts';
import { eventually } from '../support/service/eventually.ts';
import { useStack } from '../support/service/use-stack.ts';

const planted = { apiKey: 'S3CR3T/source+api key&0123456789' };
const pages = 4;

/** The page behind which the API refuses the next request; null: none. */
let brokenAt: number | null = null;

/** Repeats the key of each request wherever a run goes on from what it got. */
const shared = useStack({
  reply: ({ url }) => {
    const { pathname, searchParams, origin, search } = new URL(url, 'http://upstream');
    const page = Number(searchParams.get('page') ?? /\d+$/.exec(searchParams.get('cursor') ?? '')?.[0] ?? '1');
    const key = searchParams.get('access_token') ?? '';
    const again = String(new URLSearchParams({ access_token: key, page: String(page + 1) }));
    const link = `${origin === 'http://upstream' ? '' : origin}${pathname}?${again}`;
    const body = (rest: object) => JSON.stringify({ data: [{ id: page, ref: 'one' }], ...rest });
    const isLast = page >= pages;
    if (brokenAt !== null && page > brokenAt) return { status: 400, body: '{}' };
    if (pathname === '/linked') return { body: body(isLast ? {} : { next: link }) };
    if (pathname === '/headed') return { headers: isLast ? {} : { link: `<${link}>; rel="next"` }, body: body({}) };
    if (pathname === '/tokened') return { body: body(isLast ? {} : { next: `${key}#${page + 1}` }) };
    if (pathname === '/delta') return { body: body({ token: `${key}#${search.length}` }) };
    if (pathname === '/parents') return { body: JSON.stringify([{ id: 'p', self: link }]) };
    if (pathname === '/names') return { body: JSON.stringify([{ key: 'one', value: key }]) };
    if (pathname === '/children') return { body: JSON.stringify([{ id: 1 }]) };
    if (pathname === '/jobs') return { body: JSON.stringify({ id: `${key}-job`, status: 'done', file: link }) };
    if (pathname === '/rows') return { body: body(isLast ? {} : { next: link }) };
    return undefined;
  },
});

const byNext = { kind: 'next_url', next: 'body.next' };
const resources: Readonly<Record<string, object>> = {
  linked: { response: { records: 'data' }, pagination: byNext },
  headed: { response: { records: 'data' }, pagination: { kind: 'link_header' } },
  tokened: {
    response: { records: 'data' },
    pagination: { kind: 'cursor', next: 'body.next', inject: { in: 'query', name: 'cursor' } },
  },
  delta: {
    request: { path: '/delta', query: { since: '{{ window.from }}' } },
    response: { records: 'data' },
    incremental: { kind: 'token', next: 'body.token' },
    transform: "{ 'id': id, 'name': $lookups.names.one ? 'known' : 'unknown' }",
  },
  rows: {
    job: {
      create: { method: 'POST', path: '/jobs' },
      id: 'body.id',
      poll: { path: '/jobs' },
      status: 'body.status',
      completed: ['done'],
      failed: ['failed'],
      intervalSeconds: 1,
      values: { file: 'body.file' },
    },
    request: { path: '/rows', query: { of: '{{ job.id }}', file: '{{ job.file }}' } },
    response: { records: 'data' },
    pagination: byNext,
  },
  placed: {
    forEach: [{ as: 'place', values: '{{ ["region-alpha"] }}' }],
    request: { path: '/delta', query: { of: 'placed', since: '{{ window.from }}' } },
    response: { records: 'data' },
    incremental: { kind: 'token', next: 'body.token' },
  },
  parents: { key: 'parents' },
  children: {
    forEach: [{ as: 'parent', resource: 'parents', from: 'live' }],
    request: { path: '/children', query: { of: '{{ each.parent.id }}', self: '{{ each.parent.self }}' } },
  },
};

async function connect() {
  const { stack, upstream } = shared();
  const destination = await openAuditedDestination();
  const ask = async (method: string, path: string, body?: unknown) => {
    const reply = await stack.org.call(method, path, { body });
    expect(reply.status, JSON.stringify(reply.body)).toBeLessThan(400);
    return reply.body;
  };
  await ask('POST', '/specs', {
    metadata: { key: 'echoing', name: 'echoing', version: '1.0.0' },
    connectionParams: ['apiKey', 'region', 'databaseUrl'].map((key) => ({ key, type: 'string', secret: true })),
    auth: { kind: 'api_key', in: 'query', name: 'access_token', value: '{{ secrets.apiKey }}' },
    http: { baseUrl: upstream.url, retry: { maxAttempts: 1 } },
    lookups: [
      {
        assignTo: 'names',
        kind: 'request',
        request: { path: '/names' },
        keyBy: 'key',
        value: 'value',
        cache: { scope: 'connection', ttlSeconds: 3600 },
      },
    ],
    resources: Object.entries(resources).map(([key, resource]) => ({
      ...{ key, primaryKey: 'id', request: { path: `/${key}` } },
      ...resource,
    })),
    destination: { kind: 'postgres', url: '{{ secrets.databaseUrl }}', ssl: 'disable' },
  });
  await ask('POST', '/specs/echoing/versions/1.0.0/publish');
  const names = { workspaceId: stack.org.workspaceId, specKey: 'echoing', specVersion: '1.0.0', displayName: 'e' };
  const secrets = { ...planted, region: 'region-alpha', databaseUrl: destination.url };
  const body = { ...names, params: {}, secrets };
  const made = await stack.org.call('POST', '/connections', { body, headers: { 'idempotency-key': 'once' } });
  expect(made.status).toBe(201);
  const { id } = made.body;
  await ask('POST', `/connections/${id}/activate`);
  const sync = async (resource: string) => {
    const { id: runId } = await ask('POST', `/connections/${id}/sync`, { resource });
    return eventually('the run ends', async () => {
      const run = await ask('GET', `/runs/${runId}`);
      return run.finishedAt !== null && run;
    });
  };
  const receipts = async () => JSON.stringify(await destination.query('select * from _css_checkpoint'));
  return { destination, sync, receipts, body };
}

describe('a key that the API sends back', () => {
  it('stands nowhere in the control database or at the destination, and runs go on from it', async () => {
    const of = await connect();
    const ended: Record<string, unknown> = {};
    for (const resource of ['linked', 'headed', 'tokened', 'rows']) {
      brokenAt = 2;
      expect((await of.sync(resource)).status).toBe('failed');
      brokenAt = null;
    }
    for (const resource of ['delta', 'children']) ended[resource] = await of.sync(resource);
    expect(ended).toMatchObject({ delta: { status: 'succeeded' }, children: { status: 'succeeded' } });
    const places = {
      runs: JSON.stringify(ended),
      tables: await dumpTables(shared().stack),
      receipts: await of.receipts(),
    };
    expect(places.tables).toContain('sealed:');
    expect(places.receipts).toContain('sealed:');
    expect(searchForSecrets(places, planted)).toEqual([]);
    // Nobody who guesses a secret can tell from what is stored that it is right.
    const guess = createHash('sha256').update(canonicalJson(of.body)).digest('hex');
    expect(places.tables).not.toContain(guess);
    // The same is true of the addresses that repeat it, and of the tokens: what tells pages apart is made without it.
    const hashOf = (content: unknown) => createHash('sha256').update(JSON.stringify(content)).digest('hex');
    const telling = shared()
      .upstream.journal.map(({ url }) => new URL(url, shared().upstream.url).href)
      .filter((href) => /[?&]page=|cursor=/.test(href))
      .flatMap((href) => [hashOf(['GET', href, null]).slice(0, 32), hashOf(href).slice(0, 16)]);
    const tokens = [2, 3, 4].map((page) => hashOf(`${planted.apiKey}#${page}`).slice(0, 16));
    expect([...telling, ...tokens].filter((digest) => places.tables.includes(digest))).toEqual([]);
    // What was sealed is used: the lists end, and the token of the API is sent as it was.
    for (const resource of ['linked', 'headed', 'tokened', 'rows']) {
      expect(await of.sync(resource)).toMatchObject({ status: 'succeeded' });
      expect(await of.destination.query(`select id::int from ${resource} order by id`)).toHaveLength(pages);
    }
    await of.sync('delta');
    const asked = shared()
      .upstream.journal.filter(({ url }) => url.startsWith('/delta'))
      .at(-1);
    expect(new URL(asked?.url ?? '', 'http://a').searchParams.get('since')).toContain(planted.apiKey);
    // A partition whose key holds the secret is found again by it.
    await of.sync('placed');
    await of.sync('placed');
    const again = shared()
      .upstream.journal.filter(({ url }) => url.includes('of=placed'))
      .at(-1);
    expect(new URL(again?.url ?? '', 'http://a').searchParams.get('since')).toContain(planted.apiKey);
    // After a rotation no text is under the old key, wherever it stands.
    const { stack } = shared();
    expect(await dumpTables(stack)).toContain('sealed:k1.');
    const ring = [{ id: 'k2', key: new Uint8Array(randomBytes(32)) }, ...stack.keyRing];
    const rotated = await runAdmin({ ...stack.env, SECRETS_KEYS: formatKeyRing(ring) }, 'keys', 'rotate', '--json');
    expect(JSON.parse(rotated.stdout)).toMatchObject({ left: 0 });
    // The payload of an event stays as it was sent, byte for byte; nobody opens a watermark in it.
    const lines = (await dumpTables(stack)).split('\n').filter((line) => !line.includes('"data":{"run":{'));
    expect(lines.filter((line) => line.includes('sealed:k1.'))).toEqual([]);
  });
});

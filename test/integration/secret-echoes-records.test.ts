import { describe, expect, it } from 'vitest';
import { dumpTables } from '../support/security/planted-secrets.ts';
import { eventually } from '../support/service/eventually.ts';
import { useStack } from '../support/service/use-stack.ts';
import { connectCustomer } from '../support/sync/customer.ts';

const signing = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const secrets = { apiKey: 'S3CR3T/source+api/key/0123456789', pin: '73051996248113', signing };
const { apiKey, pin } = secrets;
const link = `/names?access_token=${apiKey}`;
/** As PHP writes JSON: it escapes each slash. */
const php = (value: unknown) => JSON.stringify(value).replaceAll('/', '\\/');

/** Whether the API responds to requests of children. */
let isDown = false;

/** Repeats secrets in what is stored of records, and in ways that no text of a position has. */
const shared = useStack({
  reply: ({ url }) => {
    const { pathname, searchParams } = new URL(url, 'http://upstream');
    const body = (value: unknown, write = JSON.stringify) => ({ headers: { etag: '"1"' }, body: write(value) });
    if (pathname === '/slashed') return body([{ key: 'one', value: 'n', link }], php);
    if (pathname === '/percent') return body([{ key: 'one', value: 'n', link: encodeURIComponent(link) }]);
    if (pathname === '/numbered') {
      if (searchParams.get('cursor') === pin) return { status: 400, body: '{}' };
      return body({ data: [{ id: 1 }], next: Number(pin) });
    }
    if (pathname === '/parents') return body([{ id: 'p1', self: link, at: `2:${apiKey}` }]);
    if (pathname === '/named') return body([{ id: 'p1', map: { [apiKey]: 1 } }]);
    if (pathname === '/hook') return { status: 503, body: '{}' };
    if (pathname === '/kids' && isDown) return { status: 503, body: '{}' };
    return body([{ id: 1 }]);
  },
});

let nth = 0;
async function connect(
  resources: readonly object[],
  spec: { readonly destination?: object; readonly lookups?: object } = {},
) {
  const { stack, upstream } = shared();
  nth += 1;
  const customer = await connectCustomer(stack, {
    document: {
      metadata: { key: `echo-${nth}`, name: 'e', version: '1.0.0' },
      connectionParams: Object.keys(secrets).map((key) => ({ key, type: 'string', secret: true })),
      auth: { kind: 'basic', username: '{{ secrets.pin }}', password: '{{ secrets.apiKey }}' },
      http: { baseUrl: upstream.url, retry: { maxAttempts: 1 } },
      resources: resources.map((resource) => ({ primaryKey: 'id', ...resource })),
      ...spec,
    },
    keepsDestination: spec.destination !== undefined,
    params: {},
    secrets,
  });
  const stored = async () =>
    `${await dumpTables(stack)}\n${JSON.stringify(await customer.destination.query('select * from _css_checkpoint'))}`;
  return { ...customer, stored };
}

/** What stands in base64 in a dump, read. */
const inBase64 = (text: string) =>
  [...text.matchAll(/[A-Za-z0-9+/]{40,}={0,2}/g)].map(([one]) => Buffer.from(one, 'base64').toString()).join('\n');

describe('a secret that an API sends back is sealed', () => {
  it.each(['slashed', 'percent'])('in a cached response whose body spells it %s', async (path) => {
    const names = {
      ...{ assignTo: 'names', kind: 'request', keyBy: 'key', value: 'value' },
      request: { path: `/${path}`, cache: { mode: 'conditional' } },
    };
    const rows = { key: 'rows', request: { path: '/rows' }, transform: "{ 'id': id, 'n': $lookups.names.one }" };
    const customer = await connect([rows], { lookups: [names] });
    expect(await customer.sync('rows')).toMatchObject({ status: 'succeeded' });
    const text = inBase64(await customer.stored());
    expect([php(apiKey).slice(1, -1), encodeURIComponent(apiKey)].filter((one) => text.includes(one))).toEqual([]);
    // It is used: the API confirms it, and the list is read from it.
    expect(await customer.sync('rows')).toMatchObject({ status: 'succeeded' });
  });

  it('as a number, in the position of a run that failed', async () => {
    const customer = await connect([
      {
        key: 'numbered',
        request: { path: '/numbered' },
        response: { records: 'data' },
        pagination: { kind: 'cursor', next: 'body.next', inject: { in: 'query', name: 'cursor' } },
      },
    ]);
    const run = await customer.sync('numbered');
    expect(run).toMatchObject({ status: 'failed', statsJson: { recordsIn: 1 } });
    const runs = await shared().stack.db.selectFrom('runs').select('position').where('id', '=', run.id).execute();
    expect(JSON.stringify(runs)).toContain('sealed:');
    expect(await customer.stored()).not.toContain(pin);
  });

  it('in the fields and the cursor of a stored parent, which its children are read with', async () => {
    const incremental = { kind: 'cursor', cursor: { field: 'at', type: 'string' }, order: 'none' };
    const parents = { key: 'parents', request: { path: '/parents' }, incremental, transform: "{ 'id': id }" };
    const customer = await connect([
      parents,
      {
        key: 'children',
        forEach: [{ as: 'parent', resource: 'parents', from: 'store' }],
        request: { path: '/children', query: { self: '{{ each.parent.self }}' } },
      },
    ]);
    expect(await customer.sync('parents')).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 1 } });
    expect(await customer.stored()).not.toContain(apiKey);
    // The version is compared with the one that is stored.
    expect(await customer.sync('parents')).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 0 } });
    expect(await customer.sync('children')).toMatchObject({ status: 'succeeded' });
    const asked = shared().upstream.journal.filter(({ url }) => url.startsWith('/children'));
    expect(asked.map(({ url }) => new URL(url, 'http://a').searchParams.get('self'))).toEqual([link]);
    const { body: test } = await shared().stack.org.call(
      'POST',
      `/connections/${customer.connectionId}/test?resource=children`,
    );
    expect(test).toMatchObject({ ok: true });
    expect(await customer.stored()).not.toContain(apiKey);
  });

  it('as the name of a field, in the list of partitions', async () => {
    const customer = await connect([
      { key: 'named', request: { path: '/named' } },
      {
        key: 'kids',
        forEach: [{ as: 'parent', resource: 'named', from: 'live' }],
        request: { path: '/kids', query: { count: '{{ $count($keys(each.parent.map)) }}' } },
      },
    ]);
    isDown = true;
    const run = customer.sync('kids');
    const listed = await eventually('the list is made', async () => {
      const rows = await shared().stack.db.selectFrom('runDimensions').select('value').execute();
      return rows.length > 0 && JSON.stringify(rows);
    });
    isDown = false;
    expect(listed).toContain('sealed:');
    expect(listed).not.toContain(apiKey);
    expect(await run).toMatchObject({ status: 'succeeded' });
  });
});

it('a batch that waits for a webhook holds no secret of a record that it does not deliver', async () => {
  const { stack, upstream } = shared();
  const destination = { kind: 'webhook', url: `${upstream.url}/hook`, signingSecret: '{{ secrets.signing }}' };
  const linked = { key: 'linked', request: { path: '/parents' }, transform: "{ 'id': id }" };
  const { connectionId } = await connect([linked], { destination });
  const { body: run } = await stack.org.call('POST', `/connections/${connectionId}/sync`, {
    body: { resource: 'linked' },
  });
  await eventually('it is sent', async () => upstream.journal.some(({ url }) => url.startsWith('/hook')));
  const tables = await dumpTables(stack);
  await stack.org.call('POST', `/runs/${run.id}/cancel`);
  expect(tables).toContain('/names?access_token=[redacted]');
  expect(tables).not.toContain(apiKey);
});

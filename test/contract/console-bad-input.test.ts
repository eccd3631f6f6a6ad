import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { consoleRoutes } from '../../src/console/pages/index.ts';
import { newId } from '../../src/core/ids.ts';
import { type ConsoleClient, type ConsoleReply, encode, openConsole } from '../support/console/console-client.ts';
import { caseFigure } from '../support/security/figure.ts';
import { startApi, type TestApi } from '../support/service/api.ts';
import { hostileStrings } from '../support/string-slots/hostile-strings.ts';
import { fillOrg, type Inventory } from '../support/upstream/api-fixtures.ts';

const opened = new AsyncDisposableStack();
let api: TestApi;
let us: ConsoleClient;
let things: Inventory;

beforeAll(async () => {
  api = opened.use(await startApi());
  const org = await api.newOrg();
  things = await fillOrg(api, org);
  us = await openConsole(api, org.apiKey);
});
afterAll(() => opened.disposeAsync());

/** Whatever is sent, the response is a page that says what is wrong, and shows nothing of the inside. */
function expectNoFault(reply: ConsoleReply): void {
  caseFigure('badInput5xx', reply.status >= 500);
  expect(reply.status).toBeLessThan(500);
  expect(reply.text).not.toMatch(/\bat \S+ \(|node_modules|\.ts:\d|insert into/i);
}

const pages = consoleRoutes.filter(({ method }) => method === 'get').map(({ path }) => path);
const actions = consoleRoutes.filter(({ method }) => method === 'post').map(({ path }) => path);

/** A path with the ids of what exists. */
const filled = (path: string): string => {
  const ids: Readonly<Record<string, string>> = {
    connections: things.activeConnectionId,
    runs: things.runId,
    quarantine: things.quarantineId,
    schedules: things.scheduleId,
    endpoints: things.endpointId,
    recoveries: things.recoveryId,
    deliveries: things.deliveryId,
    hooks: things.hookId,
    'api-keys': newId('key'),
  };
  const values: Readonly<Record<string, string>> = {
    id: ids[path.split('/')[1] ?? ''] ?? '',
    key: path.startsWith('/catalogue') ? 'github' : things.specKey,
    version: things.draftVersion,
  };
  return path.replace(/:(\w+)/g, (_all, name: string) => values[name] ?? '');
};

/** Every parameter that a page reads from its address. */
const parameters = [
  'before',
  'after',
  'connectionId',
  'endpointId',
  'resource',
  'status',
  'trigger',
  'health',
  'spec',
  'errorCode',
  'runId',
  'text',
  'tag',
  'from',
  'to',
  'version',
  'notice',
  'count',
  'id',
  'outcome',
  'eventType',
  'q',
  'key',
];
/** Every field that a form has. */
const fields = [
  'resource',
  'from',
  'force',
  'cron',
  'timezone',
  'enabled',
  'resourceKeys[]',
  'verification',
  'connectionId',
  'ids[]',
  'url',
  'description',
  'eventTypes[]',
  'hours',
  'include[]',
  'document',
  'key',
  'version',
  'expression',
  'record',
  'replace',
  'act',
  'back',
  'destination',
  'specKey',
  'specVersion',
  'workspaceId',
  'displayName',
  'externalCustomerId',
  'errorAfterMinutes',
  'params.subdomain',
  'params.startDate',
  'params.other[]',
  'secrets.apiKey',
  'removedSecrets[]',
  'allowDeletes',
];

describe('bad input in the console', () => {
  it.each([...pages, ...actions].filter((path) => path.includes(':')))('in the path is a 404: %s', async (path) => {
    const isPage = pages.includes(path);
    for (const text of [...hostileStrings, 'run_0', newId('run').toUpperCase(), `${newId('con')}x`]) {
      const part = text === '' || text === '.' || text === '..' ? 'x' : encodeURIComponent(text.toWellFormed());
      const address = `/console${path.replace(/:\w+/g, part)}`;
      const reply = isPage ? await us.get(address) : await us.post(address);
      expectNoFault(reply);
      expect([404, 400]).toContain(reply.status);
    }
  });

  it.each(pages)('in the query is refused or ignored: %s', async (path) => {
    for (const text of hostileStrings) {
      const query = encode(Object.fromEntries(parameters.map((name) => [name, text.toWellFormed()])));
      expectNoFault(await us.get(`/console${filled(path)}?${query}`));
    }
    for (const name of parameters) {
      for (const raw of ['%ff', '%00', `a&${name}=b`, '%', '[]', '-1', '9'.repeat(30)]) {
        expectNoFault(await us.get(`/console${filled(path)}?${name}=${raw}`));
      }
    }
  });

  it.each(actions)(
    'in a form is refused or ignored: %s',
    async (path) => {
      const address = `/console${filled(path)}`;
      // What deletes is tried with what does not exist.
      const target = /delete|revoke/.test(path) ? address.replace(/_\w{6}/, '_000000') : address;
      for (const text of hostileStrings) {
        const form = Object.fromEntries(fields.map((name) => [name, name.endsWith('[]') ? [text, text] : text]));
        expectNoFault(await us.post(target, form));
      }
      expectNoFault(await us.post(target, { resource: ['a', 'b'], document: ['a', 'b'] }));
    },
    120_000,
  );

  it.each([
    ['no form', '{"a":1}', { 'content-type': 'application/json' }, 400],
    ['no type', 'a=b', { 'content-type': '' }, 400],
    ['no fields', '', {}, 401],
    ['bytes that are no UTF-8', new Uint8Array([0xff, 0xfe, 0x3d, 0x61]), {}, 400],
    ['more than it may be', `document=${'x'.repeat(1_100_000)}`, {}, 413],
    ['thousands of fields', Array.from({ length: 60_000 }, (_, n) => `f${n}=1`).join('&'), {}, 401],
    ['names of the prototype chain', '__proto__=1&constructor=2', {}, 400],
  ] as const)('as a body is refused: %s', async (_name, body, headers, status) => {
    const reply = await us.post('/console/check-spec', {}, { body, headers });
    expectNoFault(reply);
    expect(reply.status).toBe(status);
    expect(reply.headers.get('content-type')).toContain('text/html');
  });

  it.each([
    ['deeper than a document may be', '['.repeat(5000)],
    ['with an alias that grows', 'a: &a [x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a]\nc: [*b,*b,*b,*b,*b,*b,*b]'],
    ['with a tag', '!!js/function "x"'],
    ['with NUL', 'metadata: "\0"'],
    ['that is empty', '   '],
  ])('as a spec is an issue to correct: %s', async (_name, document) => {
    const reply = await us.post('/console/check-spec', { document });
    expectNoFault(reply);
    expect(reply.text).toMatch(/class="notice bad"|class="failure"/);
  });
});

describe('markup in what is sent', () => {
  const markup = `<img src=x onerror="alert(1)">'`;

  it.each(pages)('as every parameter is shown as text or not at all: %s', async (path) => {
    const query = encode(Object.fromEntries(parameters.map((name) => [name, markup])));
    expect((await us.get(`/console${filled(path)}?${query}`)).text).not.toContain('<img');
    for (const name of parameters) {
      const reply = await us.get(`/console${filled(path)}?${encode({ [name]: markup })}`);
      expect(reply.text).not.toContain('<img');
    }
  });

  it.each(actions.filter((path) => !/delete|revoke/.test(path)))(
    'as every field is shown as text or not at all: %s',
    async (path) => {
      const form = Object.fromEntries(fields.map((name) => [name, name.endsWith('[]') ? [markup] : markup]));
      const reply = await us.post(`/console${filled(path)}`, form);
      expectNoFault(reply);
      expect(reply.text).not.toContain('<img');
    },
  );

  it('stays in the editor of specs as it was typed', async () => {
    const document = `metadata: { key: "${markup.replaceAll('"', '')}" }</textarea>`;
    const { text } = await us.post('/console/check-spec', { document });
    expect(text).not.toMatch(/<img|\}<\/textarea>/);
    expect(text).toContain('&lt;img src=x onerror=alert(1)&gt;');
  });
});

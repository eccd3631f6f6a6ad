import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { orgScope } from '../../db/scope.ts';
import { openSecrets } from '../../src/connect/secrets.ts';
import { type ConsoleClient, type FormFields, openConsole } from '../support/console/console-client.ts';
import { startApi, type TestApi, type TestOrg } from '../support/service/api.ts';
import { specDocument } from '../support/upstream/api-fixtures.ts';

const opened = new AsyncDisposableStack();
let api: TestApi;
let org: TestOrg;
let us: ConsoleClient;

/** A param of every kind. */
const everyKind = {
  ...specDocument({ key: 'kinds' }),
  connectionParams: [
    {
      key: 'account',
      type: 'string',
      label: 'Account',
      description: 'The part before .acme.example',
      format: 'subdomain',
    },
    { key: 'region', type: 'string', enum: ['eu', 'us'], default: 'eu' },
    { key: 'limit', type: 'integer', required: false, min: 1 },
    { key: 'archived', type: 'boolean', required: false },
    { key: 'lists', type: 'string_list', required: false },
    { key: 'options', type: 'json', required: false },
    { key: 'code', type: 'json', enum: ['12', 12], default: '12' },
    { key: 'token', type: 'string', secret: true, pattern: '^tk_' },
    { key: 'certificate', type: 'string', required: false },
    { key: 'note', type: 'string', required: false },
    { key: 'spare', type: 'string', secret: true, required: false },
    { key: 'privateKey', type: 'string', secret: true, required: false },
  ],
};
/** A resource that is read as a whole, of one account. */
const wholeOf = (key: string, mode: 'full_scan' | 'none') => ({
  ...specDocument({ key }),
  connectionParams: [{ key: 'account', type: 'string' }],
  resources: [
    {
      key: 'items',
      primaryKey: ['id'],
      request: { path: '/{{ params.account }}/items' },
      response: { records: 'data' },
      deletes: { mode },
      target: { table: 'items' },
    },
  ],
});
/** Another account deletes what the resource had. */
const scanned = wholeOf('scanned', 'full_scan');
const kept = wholeOf('kept', 'none');

beforeAll(async () => {
  api = opened.use(await startApi());
  org = await api.newOrg();
  for (const body of [everyKind, scanned, kept]) {
    const { key, version } = body.metadata;
    await org.call('POST', '/specs', { body });
    await org.call('POST', `/specs/${key}/versions/${version}/publish`);
  }
  us = await openConsole(api, org.apiKey);
});
afterAll(() => opened.disposeAsync());

const address = '/console/new-connection?spec=kinds&version=1.0.0';
const filledIn = (fields: FormFields = {}): FormFields => ({
  specKey: 'kinds',
  specVersion: '1.0.0',
  workspaceId: org.workspaceId,
  displayName: 'Acme of Example Ltd',
  externalCustomerId: '',
  'params.account': 'acme',
  'params.region': 'us',
  'secrets.token': 'tk_first',
  ...fields,
});

/** Creates one by the form; its id. */
async function create(fields: FormFields = {}): Promise<string> {
  const reply = await us.post('/console/connections', filledIn(fields));
  expect(reply.text).toBe('');
  expect(reply.status).toBe(303);
  return /connections\/(con_\w+)\?notice=connection-created$/.exec(reply.headers.get('location') ?? '')?.[1] ?? '';
}

/** Creates one of a spec whose only value is the account. */
async function createOf(specKey: string): Promise<string> {
  const { 'params.region': _, 'secrets.token': _token, ...fields } = filledIn({ specKey, 'params.account': 'first' });
  const made = await us.post('/console/connections', fields);
  return /con_\w+/.exec(made.headers.get('location') ?? '')?.[0] ?? '';
}

const secretsOf = (id: string) => openSecrets(api.deps, api.deps.db, orgScope(org.orgId), id);
const paramsOf = async (id: string) => (await org.call('GET', `/connections/${id}`)).body.paramsJson;

describe('the form of a new connection', () => {
  it('has a field for each value of the spec, with its label, its help and its choices', async () => {
    const { text, status } = await us.get(address);
    expect(status).toBe(200);
    expect(text).toMatch(/<label for="field-params.account">Account<\/label>/);
    expect(text).toContain('The part before .acme.example.');
    expect(text).toMatch(
      /<select id="field-params.region"[\s\S]*?<option value="">Default \(eu\)<[\s\S]*?<option value="eu" selected>eu/,
    );
    expect(text).toMatch(/<select id="field-workspaceId"[^>]*required>\s*<option value="" selected>Choose one</);
    expect(text).toMatch(/<input id="field-secrets.token"[^>]*type="password"/);
    expect(text).toMatch(/<textarea id="field-secrets.privateKey"[^>]*class="masked"/);
    expect(text).toMatch(/<textarea id="field-params.lists"/);
    expect(text).toContain('lists (optional)');
    expect(text).toContain('PostgreSQL');
  });

  it('creates a connection whose values have the types of the spec, and leads to its page', async () => {
    const id = await create({
      externalCustomerId: ' cus_1 ',
      errorAfterMinutes: '30',
      'params.limit': ' 20 ',
      'params.archived': 'false',
      'params.lists': 'a\r\n\r\n b \r\n',
      'params.options': '{ "deep": [1, { "x": null }] }',
      'secrets.privateKey': '-----BEGIN\nkey\nEND-----\n',
    });
    expect((await org.call('GET', `/connections/${id}`)).body).toMatchObject({
      displayName: 'Acme of Example Ltd',
      externalCustomerId: 'cus_1',
      errorAfterMinutes: 30,
      status: 'pending',
      paramsJson: {
        account: 'acme',
        region: 'us',
        limit: 20,
        archived: false,
        lists: ['a', 'b'],
        options: { deep: [1, { x: null }] },
      },
    });
    expect(await secretsOf(id)).toEqual({ token: 'tk_first', privateKey: '-----BEGIN\nkey\nEND-----\n' });
    expect((await us.get(`/console/connections/${id}?notice=connection-created`)).text).toContain('is created');
  });

  it('creates one connection however often it is sent, and another one of other values', async () => {
    const [, formId = ''] = /name="formId" value="([^"]+)"/.exec((await us.get(address)).text) ?? [];
    const [first, again] = await Promise.all([create({ formId }), create({ formId })]);
    expect(again).toBe(first);
    expect(await create({ formId, displayName: 'Another' })).not.toBe(first);
    expect((await us.get(address)).text).not.toContain(formId);
  });

  it('leaves out what is empty, so that it is the default or nothing', async () => {
    const id = await create({ 'params.region': '', 'params.limit': ' ', 'params.lists': '\n' });
    expect(await paramsOf(id)).toEqual({ account: 'acme', region: 'eu', code: '12' });
  });

  it.each([
    ['displayName', '  ', 'Expected at least one character that is not white space.'],
    ['workspaceId', 'prod', /^Expected an id such as ws_/],
    ['errorAfterMinutes', '-1', 'Expected at least 0.'],
    ['params.account', 'acme.example', 'Expected one label of a host name, such as acme.'],
    ['params.account', '', 'Is required.'],
    ['params.region', 'mars', 'Expected one of &quot;eu&quot;, &quot;us&quot;.'],
    ['params.limit', 'many', 'Expected an integer.'],
    ['params.limit', '0', 'Expected at least 1.'],
    ['params.archived', 'perhaps', 'Expected true or false.'],
    ['params.options', '{ "a": ', 'Expected JSON.'],
    ['params.options', 'a: 1', 'Expected JSON.'],
    ['secrets.token', 'pk_wrong', 'Does not match the pattern ^tk_.'],
    ['secrets.token', '', 'Is required.'],
  ])('says at the field %s why “%s” does not fit, and keeps the rest', async (name, value, words) => {
    const reply = await us.post('/console/connections', filledIn({ 'params.lists': 'kept', [name]: value }));
    expect(reply.status).toBe(400);
    const error = new RegExp(`<p class="error" id="field-${name}-error">([^<]*)</p>`).exec(reply.text)?.[1];
    expect(error).toEqual(typeof words === 'string' ? words : expect.stringMatching(words));
    expect(reply.text).toMatch(new RegExp(`id="field-${name}"[^>]*aria-invalid="true"`));
    expect(reply.text).toContain(`href="#field-${name}"`);
    expect(reply.text.includes('<details id="more-settings" open>')).toBe(name === 'errorAfterMinutes');
    expect(reply.text).toMatch(/<textarea id="field-params.lists"[^>]*>\nkept</);
  });

  it('never sends a secret back, and says that it is to be entered again', async () => {
    const reply = await us.post('/console/connections', filledIn({ displayName: '', 'secrets.token': 'tk_planted' }));
    expect(reply.text).not.toContain('tk_planted');
    expect(reply.text).toContain('Secrets are not sent back to the browser');
  });

  it('says of a draft, and of a spec without a destination, why there is no form', async () => {
    await org.call('POST', '/specs', { body: specDocument({ key: 'kinds', version: '1.1.0' }) });
    const draft = await us.get('/console/new-connection?spec=kinds&version=1.1.0');
    expect(draft.text).toContain('is a draft: publish it first');
    expect(draft.text).not.toContain('<fieldset');
    const { destination: _, ...nowhere } = specDocument({ key: 'nowhere' });
    await org.call('POST', '/specs', { body: nowhere });
    await org.call('POST', '/specs/nowhere/versions/1.0.0/publish');
    expect((await us.get('/console/new-connection?spec=nowhere&version=1.0.0')).text).toContain(
      'The spec declares no destination',
    );
    const sent = await us.post('/console/connections', filledIn({ specKey: 'nowhere' }));
    expect(sent.status).toBe(400);
    expect(sent.text).toContain('The spec declares no destination');
  });

  it('is chosen from the published versions of the specs', async () => {
    const { text } = await us.get('/console/new-connection');
    expect(text).toContain('href="/console/new-connection?spec=kinds&amp;version=1.0.0"');
    expect(text).not.toContain('spec=kinds&amp;version=1.1.0');
  });

  it('is chosen from published versions behind any number of drafts', async () => {
    await org.call('POST', '/specs', { body: specDocument({ key: 'drafted' }) });
    await org.call('POST', '/specs/drafted/versions/1.0.0/publish');
    for (const minor of [1, 2, 3, 4, 5, 6]) {
      await org.call('POST', '/specs', { body: specDocument({ key: 'drafted', version: `1.${minor}.0` }) });
    }
    expect((await us.get('/console/new-connection')).text).toContain('spec=drafted&amp;version=1.0.0');
  });
});

describe('the settings of a connection', () => {
  const settings = (id: string) => `/console/connections/${id}/edit`;
  const check = (id: string) => `/console/connections/${id}/check-edit`;
  /** Fills the form in, and sends it. */
  async function send(id: string, fields: FormFields, path = settings(id)) {
    const [, shown = ''] = /name="shown" value="([^"]+)"/.exec((await us.get(settings(id))).text) ?? [];
    return us.post(path, { shown, ...fields });
  }
  const names = { displayName: 'Acme of Example Ltd', externalCustomerId: '', errorAfterMinutes: '0' };
  const asShown = { ...names, 'params.account': 'acme', 'params.region': 'us', 'params.code': '"12"' };

  it('show the params and no secret', async () => {
    const id = await create({ 'params.lists': 'a\nb' });
    const { text } = await us.get(settings(id));
    expect(text).toMatch(/<input id="field-params.account"[^>]*value="acme"/);
    expect(text).toMatch(/<textarea id="field-params.lists"[^>]*>\na\nb</);
    expect(text).not.toContain('tk_first');
    expect(text).toContain('Empty: it stays as it is.');
  });

  it('change params and names, and keep the secrets that are left empty', async () => {
    const id = await create({ 'params.limit': '5', 'secrets.spare': 'spare' });
    const reply = await send(id, { ...asShown, displayName: 'Renamed', 'params.account': 'other' });
    expect(reply.headers.get('location')).toBe(`/console/connections/${id}/settings?notice=connection-changed`);
    expect((await org.call('GET', `/connections/${id}`)).body).toMatchObject({
      displayName: 'Renamed',
      paramsJson: { account: 'other', region: 'us', code: '12' },
    });
    expect(await secretsOf(id)).toEqual({ token: 'tk_first', spare: 'spare' });
  });

  it('replace a secret that is filled in, and delete an optional one that is selected', async () => {
    const id = await create({ 'secrets.spare': 'spare' });
    await send(id, { ...asShown, 'secrets.token': 'tk_second', 'removedSecrets[]': ['spare', 'token'] });
    expect(await secretsOf(id)).toEqual({ token: 'tk_second' });
  });

  it.each([
    ['["a","b"]', ['a', 'b']],
    ['"12"', '12'],
    ['12', 12],
    ['null', null],
    ['"two\\nlines"', 'two\nlines'],
  ])('read JSON as it is shown: %s', async (text, options) => {
    const id = await create({ 'params.options': text, 'params.code': '12' });
    const stored = { account: 'acme', region: 'us', code: 12, options };
    expect(await paramsOf(id)).toEqual(stored);
    const shown = JSON.stringify(options, null, 2);
    expect((await us.get(settings(id))).text.replaceAll('&quot;', '"')).toContain(`>\n${shown}</textarea>`);
    const changed = { ...asShown, 'params.code': '"12"', 'params.options': `${shown} ` };
    expect((await send(id, changed)).status).toBe(303);
    expect(await paramsOf(id)).toEqual({ ...stored, code: '12' });
  });

  it('keep a value that nobody could type as it is', async () => {
    const id = await create();
    const params = {
      account: 'acme',
      region: 'us',
      code: '12',
      lists: ['two\nlines', ' spaces '],
      certificate: '\r\n-----BEGIN\r\nkey\r\n',
      note: 'two\nlines',
    };
    await org.call('PATCH', `/connections/${id}`, { body: { params } });
    expect((await us.get(settings(id))).text).toMatch(/<textarea id="field-params.note"[^>]*>\ntwo\nlines</);
    await send(id, {
      ...asShown,
      displayName: 'Renamed',
      'params.lists': 'two\r\nlines\r\n spaces ',
      'params.certificate': params.certificate,
      'params.note': 'two\r\nlines',
    });
    expect(await paramsOf(id)).toEqual(params);
  });

  it('overwrite nothing that was changed since the form was opened', async () => {
    const id = await create();
    const { text } = await us.get(settings(id));
    const [, shown = ''] = /name="shown" value="([^"]+)"/.exec(text) ?? [];
    await org.call('PATCH', `/connections/${id}`, { body: { displayName: 'Newer' } });
    for (const path of [settings(id), check(id)]) {
      const reply = await us.post(path, { ...asShown, shown, 'params.account': 'other' });
      expect(reply.status).toBe(400);
      expect(reply.text).toContain('The connection was changed after this form was opened.');
      expect(reply.text).toContain(`name="shown" value="${shown}"`);
    }
    expect((await us.post(settings(id), asShown)).status).toBe(400);
    expect((await org.call('GET', `/connections/${id}`)).body).toMatchObject({
      displayName: 'Newer',
      paramsJson: { account: 'acme' },
    });
  });

  it('say at the field what does not fit, and change nothing', async () => {
    const id = await create();
    const removed = { 'removedSecrets[]': ['spare'] };
    const sent = { ...asShown, ...removed, 'params.account': 'not.one', 'secrets.token': 'wrong_planted' };
    for (const path of [settings(id), check(id)]) {
      const reply = await send(id, sent, path);
      expect(reply.status).toBe(400);
      expect(reply.text).toContain(
        '<p class="error" id="field-params.account-error">Expected one label of a host name',
      );
      expect(reply.text).toContain('id="field-secrets.token-error"');
      expect(reply.text).not.toContain('wrong_planted');
      expect(reply.text.match(/name="removedSecrets\[\]" value="\w+" checked/g)).toEqual([
        'name="removedSecrets[]" value="spare" checked',
      ]);
    }
    expect(await paramsOf(id)).toMatchObject({ account: 'acme' });
  });

  it('say what a change means before it is saved', async () => {
    const id = await create();
    expect((await send(id, asShown, check(id))).text).toContain('nothing is read or delivered again');
    await send(id, { ...asShown, displayName: 'Renamed' });
    expect((await send(id, { ...asShown, displayName: 'Other' }, check(id))).status).toBe(200);
    expect((await org.call('GET', `/connections/${id}`)).body.displayName).toBe('Renamed');
  });

  it('say that other records may be read, where none is deleted', async () => {
    const id = await createOf('kept');
    const { text } = await send(id, { ...names, 'params.account': 'second' }, check(id));
    expect(text).toContain('Other records than before may be read');
    expect(text).not.toContain('nothing is read or delivered again');
    expect(text).not.toContain('name="allowDeletes"');
  });

  it('ask for consent to deletions, and save nothing without it', async () => {
    const id = await createOf('scanned');
    await api.deps.db
      .insertInto('lanes')
      .values({ orgId: org.orgId, connectionId: id, resourceKey: 'items' })
      .execute();
    const change = { ...names, 'params.account': 'second' };
    const consentIn = ({ text }: { text: string }) => /name="allowDeletes" value="([^"]+)"/.exec(text)?.[1] ?? '';
    const consent = consentIn(await send(id, change, check(id)));
    expect(consent).not.toBe('');
    const refused = await send(id, change);
    expect(refused.status).toBe(400);
    expect(refused.text).toContain('Nothing was saved: later runs may delete rows.');
    expect(await paramsOf(id)).toEqual({ account: 'first' });
    // It was given to another change.
    const third = await send(id, { ...change, 'params.account': 'third', allowDeletes: consent });
    expect(third.text).toContain('Nothing was saved: later runs may delete rows.');
    expect(third.text).not.toMatch(/name="allowDeletes"[^>]* checked/);
    expect(await paramsOf(id)).toEqual({ account: 'first' });
    expect((await send(id, { ...change, allowDeletes: consent })).status).toBe(303);
    expect(await paramsOf(id)).toEqual({ account: 'second' });
  });
});

describe('a link for the customer', () => {
  it('is shown once, and says why there is none', async () => {
    const id = await create();
    const path = `/console/connections/${id}/connect-session`;
    const none = await us.post(path);
    expect(none.status).toBe(409);
    expect(none.text).toContain('nothing to do');
    await api.deps.db
      .updateTable('connections')
      .set({ customerParams: ['token'] })
      .where('id', '=', id)
      .execute();
    const { status, text } = await us.post(path);
    expect(status).toBe(200);
    expect(text).toMatch(/http:\/\/localhost:3100\/connect\/cse_\w+#cst_[\w-]+/);
    expect((await org.call('GET', '/connect-sessions')).body).toMatchObject([{ connectionId: id, state: 'open' }]);
  });
});

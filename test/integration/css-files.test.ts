import { execFile } from 'node:child_process';
import { readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { importDocument } from '../../src/core/import/import.ts';
import { type PeopleApi, peopleKey, peopleSpec, startPeopleApi } from '../support/cli/people-api.ts';
import { type CssCall, runCss } from '../support/cli/run-css.ts';
import { eventually } from '../support/service/eventually.ts';
import { scratchFolder } from '../support/service/scratch-folder.ts';

let api: PeopleApi;
beforeAll(async () => {
  api = await startPeopleApi();
});
afterAll(() => api[Symbol.asyncDispose]());

/** A folder with a spec, and the command line in it. */
function authorsFolder(text = peopleSpec()) {
  const folder = scratchFolder();
  const path = join(folder, 'people.yaml');
  writeFileSync(path, text);
  const css = (...args: readonly string[]) => runCss({ folder }, ...args);
  const read = (command: 'try' | 'record', call: Partial<CssCall>, ...args: readonly string[]) =>
    runCss(
      { folder, input: `${peopleKey}\n`, ...call },
      ...[command, 'people.yaml', '--param', `apiUrl=${api.origin}`, '--allow', api.hostPort, ...args],
    );
  return { folder, path, css, read };
}

const withKey = ['--secret', 'apiKey=-'];

describe('css validate', () => {
  it('says that a valid file is valid, as one JSON document, and exits with 0', async () => {
    const { css } = authorsFolder(`# yaml-language-server: $schema=x\n${peopleSpec()}`);
    const { exitCode, stdout, stderr } = await css('validate', 'people.yaml', '--json');
    expect({ exitCode, stderr, json: JSON.parse(stdout) }).toEqual({
      exitCode: 0,
      stderr: '',
      json: { valid: true, issues: [] },
    });
  });

  it('names each issue with path, code and message, and with line and column in YAML, and exits with 1', async () => {
    const { css, folder } = authorsFolder(peopleSpec().replace('primaryKey: id', 'primarykey: id'));
    const { exitCode, stdout } = await css('validate', 'people.yaml', '--json');
    expect(exitCode).toBe(1);
    const message = 'unknown property `primarykey`; did you mean `primaryKey`?';
    const { valid, issues } = JSON.parse(stdout);
    expect(valid).toBe(false);
    expect(issues).toContainEqual({ code: 'schema', path: 'resources.0.primarykey', message, line: 11, column: 5 });
    expect((await css('validate', 'people.yaml')).stdout).toContain(`11:5  resources.0.primarykey  ${message}`);
    writeFileSync(join(folder, 'people.json'), JSON.stringify({ metadata: {} }));
    const [first] = JSON.parse((await css('validate', 'people.json', '--json')).stdout).issues;
    expect(first).toEqual({ code: 'schema', path: expect.any(String), message: 'is required' });
  });

  it('says of a test in the spec what the service says', async () => {
    const failing = 'tests:\n  - { name: reads, resource: people, params: { apiUrl: https://x.test }, expect: {} }\n';
    const { css } = authorsFolder(peopleSpec({ more: failing }));
    const { exitCode, stdout } = await css('validate', 'people.yaml', '--json');
    expect({ exitCode, issues: JSON.parse(stdout).issues }).toMatchObject({
      exitCode: 1,
      issues: [{ path: 'tests.0.mocks', message: 'test "reads": no mock matches GET /people: add one for it' }],
    });
  });

  it('refuses a file that the API would refuse: too long, broken, hostile', async () => {
    const { css, folder } = authorsFolder();
    const broken: readonly (readonly [name: string, text: string, message: string])[] = [
      ['long.yaml', `# ${'x'.repeat(1_048_576)}`, 'the file is longer than 1048576 bytes, the limit of the API'],
      ['broken.yaml', 'a: [1', 'the file is not YAML: '],
      ['broken.json', '{"secret": "hunter2"', 'the file is not JSON'],
      ['empty.yaml', '\n', 'the file is empty'],
      ['tag.yaml', 'a: !!js/function x', 'the file is not YAML: '],
    ];
    for (const [name, text, message] of broken) {
      writeFileSync(join(folder, name), text);
      const { exitCode, stdout } = await css('validate', name, '--json');
      expect({ name, exitCode, json: JSON.parse(stdout) }).toMatchObject({
        name,
        exitCode: 1,
        json: { valid: false, issues: [{ path: '', message: expect.stringContaining(message) }] },
      });
      expect(stdout).not.toContain('hunter2');
    }
  });
});

describe('css try', () => {
  it('shows requests, records, filtered ones, rows, and invalid records with their reasons', async () => {
    const { read, folder } = authorsFolder();
    const { exitCode, stdout } = await read('try', {}, ...withKey, '--json');
    const shown = JSON.parse(stdout);
    expect(exitCode).toBe(0);
    expect(shown.requests).toEqual([
      expect.objectContaining({ method: 'GET', url: `${api.origin}/people?limit=4`, status: 200 }),
      expect.objectContaining({ method: 'GET', url: `${api.origin}/people?limit=4&after=4`, status: 200 }),
    ]);
    expect(shown.records.map(({ id }: { id: number }) => id)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(shown.filtered).toMatchObject([{ id: 2 }]);
    expect(shown.rows).toEqual([1, 4, 5, 6].map((id) => ({ id, name: `Person ${id}`, email: `person${id}@x.test` })));
    expect(shown.invalid).toMatchObject([{ externalId: '3', reasons: [{ path: 'name', message: 'must be string' }] }]);
    expect(shown).toMatchObject({ status: 'partial', limited: false, hints: [], error: null });
    const text = await runCss(
      { folder, env: { KEY: peopleKey, EGRESS_ALLOW: api.hostPort } },
      ...['try', 'people.yaml', '--param', `apiUrl=${api.origin}`, '--secret', 'apiKey=env:KEY'],
    );
    expect(text.stdout).toContain('people: 2 requests, 6 records: 4 rows, 1 filtered, 1 invalid');
    expect(text.stdout).toContain('3: name: must be string');
  });

  it('gives hints where the spec may be wrong although nothing fails', async () => {
    const { read } = authorsFolder(peopleSpec().replace('next: body.next,', 'next: body.nxt,'));
    const hint = 'The only page has exactly 4 records, and pagination.next (body.nxt) finds nothing in its response.';
    expect((await read('try', {}, ...withKey)).stdout).toContain(`\nhints\n  ${hint} If it has more, correct it.\n`);
  });

  it('reads no more records than --limit says', async () => {
    const { read } = authorsFolder();
    const shown = JSON.parse((await read('try', {}, ...withKey, '--limit', '1', '--json')).stdout);
    expect(shown).toMatchObject({ limited: true, records: [{ id: 1 }], rows: [{ id: 1 }] });
    expect(shown.requests).toHaveLength(1);
  });

  it('shows no secret, even where the API echoes it', async () => {
    const { read } = authorsFolder(peopleSpec().replace("'name': full_name", "'name': full_name, 'seen': seen_with"));
    for (const args of [[], ['--json']]) {
      const { stdout, stderr } = await read('try', {}, ...withKey, ...args);
      expect(stdout).toContain('[redacted]');
      expect(stdout + stderr).not.toContain(peopleKey);
    }
  });

  it('logs in as a run does: client credentials, a session', async () => {
    const kinds = [
      `{ kind: oauth2_client_credentials, tokenUrl: '{{ params.apiUrl }}/token', clientId: me, clientSecret: '{{ secrets.apiKey }}' }`,
      `{ kind: session, login: { method: POST, path: /login, body: { json: { key: '{{ secrets.apiKey }}' } } }, tokenFrom: body.token }`,
    ];
    for (const auth of kinds) {
      const { read } = authorsFolder(peopleSpec({ auth }));
      const { exitCode, stdout, stderr } = await read(
        'try',
        { input: 'secret-of-login' },
        ...withKey,
        '--limit',
        '1',
        '--json',
      );
      expect({ auth, exitCode, stderr, rows: JSON.parse(stdout).rows }).toMatchObject({
        exitCode: 0,
        rows: [{ id: 1 }],
      });
      expect(JSON.parse(stdout).requests).toHaveLength(2);
      expect(stdout).not.toContain(peopleKey);
    }
  });

  it('says what to do where a person must sign in, and reads with a token that is given', async () => {
    const auth = `{ kind: oauth2_authorization_code, authorizeUrl: https://x.test/a, tokenUrl: https://x.test/t, clientId: me, clientSecret: '{{ secrets.apiKey }}' }`;
    const { read } = authorsFolder(peopleSpec({ auth }));
    const without = await read('try', {}, ...withKey);
    expect(without.exitCode).toBe(1);
    expect(without.stdout).toContain('auth_failed: ');
    expect(without.stdout).toContain('give a token with --access-token -');
    const { exitCode, stdout } = await read(
      'try',
      { env: { TOKEN: peopleKey } },
      '--access-token',
      'env:TOKEN',
      '--json',
    );
    expect({ exitCode, rows: JSON.parse(stdout).rows.length }).toEqual({ exitCode: 0, rows: 4 });
  });

  it('ends with the error of the run and exits with 1 when the API fails', async () => {
    const { read } = authorsFolder(peopleSpec({ path: '/broken' }));
    const { exitCode, stdout } = await read('try', {}, ...withKey, '--json');
    expect({ exitCode, shown: JSON.parse(stdout) }).toMatchObject({
      exitCode: 1,
      shown: { status: 'failed', rows: [], requests: [{ status: 400 }], error: { code: 'source_rejected' } },
    });
    const wrongKey = await authorsFolder().read('try', { input: 'wrong-key' }, ...withKey);
    expect(wrongKey.exitCode).toBe(1);
    expect(wrongKey.stdout).toContain('auth_failed: GET /people responded with 401');
  });

  it('reaches no address that is not public unless it is allowed, and says how to allow it', async () => {
    const { css } = authorsFolder();
    const before = api.asked.length;
    const { exitCode, stdout } = await css('try', 'people.yaml', '--param', `apiUrl=${api.origin}`);
    expect(exitCode).toBe(1);
    expect(stdout).toContain('auth_failed: auth.value is empty.');
    expect(stdout).toContain('--secret apiKey=-');
    const blocked = await authorsFolder(peopleSpec({ auth: '{ kind: none }' })).css(
      ...['try', 'people.yaml', '--param', `apiUrl=${api.origin}`],
    );
    expect(blocked.stdout).toContain(`egress_blocked: `);
    expect(blocked.stdout).toContain(`If this address is meant, allow it: --allow ${api.hostPort}`);
    expect(api.asked).toHaveLength(before);
  });

  it('shows on Ctrl-C what was read until then, and exits with 130', async () => {
    const { read } = authorsFolder(peopleSpec({ path: '/slow', auth: '{ kind: none }' }));
    const before = api.asked.length;
    const { exitCode, stdout } = await read(
      'try',
      {
        onStart: ({ kill }) =>
          void eventually('the API is asked', async () => api.asked.length > before).then(() => kill('SIGINT')),
      },
      '--json',
    );
    expect({ exitCode, error: JSON.parse(stdout).error }).toMatchObject({
      exitCode: 130,
      error: { code: 'interrupted' },
    });
  });

  it('refuses a secret that is written on the command line, and does not repeat it', async () => {
    const { css } = authorsFolder();
    const { exitCode, stdout, stderr } = await css('try', 'people.yaml', '--secret', `apiKey=${peopleKey}`, '--json');
    expect(exitCode).toBe(2);
    expect(stderr).toContain('ps and the history of the shell show it');
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'usage' } });
    expect(stdout + stderr).not.toContain(peopleKey);
  });
});

describe('css record', () => {
  it('appends a test that passes, without a secret, and leaves all else in the file as it is', async () => {
    const { read, css, path } = authorsFolder();
    const before = readFileSync(path, 'utf8');
    const { exitCode, stdout } = await read('record', {}, ...withKey, '--name', 'two pages');
    expect({ exitCode, stdout }).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining('added the test "two pages"'),
    });
    const after = readFileSync(path, 'utf8');
    expect(after.startsWith(before.trimEnd())).toBe(true);
    expect(after).not.toContain(peopleKey);
    expect(after).toContain('apiKey: test-apiKey');
    expect(after).toContain('seen_with: test-apiKey');
    const tested = await css('test', 'people.yaml', '--json');
    expect({ exitCode: tested.exitCode, json: JSON.parse(tested.stdout) }).toMatchObject({
      exitCode: 0,
      json: { passed: 1, failed: 0, tests: [{ name: 'two pages', resource: 'people', passed: true, differences: [] }] },
    });
    expect((await css('validate', 'people.yaml')).exitCode).toBe(0);
  });

  it('records a part of a long read, and one more test beside the others', async () => {
    const { read, css, path } = authorsFolder();
    await read('record', {}, ...withKey, '--limit', '5');
    await read('record', {}, ...withKey, '--limit', '1');
    const tested = JSON.parse((await css('test', 'people.yaml', '--json')).stdout);
    expect(tested).toMatchObject({ passed: 2, failed: 0 });
    expect(readFileSync(path, 'utf8')).toContain('maxRecords: 1');
    expect(readFileSync(path, 'utf8')).toContain('# ask the people');
  });

  it('follows a link, and keeps the mode of a file of JSON', async () => {
    const { css, folder } = authorsFolder();
    const { parse } = await import('yaml');
    const json = join(folder, 'people.json');
    writeFileSync(json, JSON.stringify(parse(peopleSpec()), null, 4), { mode: 0o640 });
    symlinkSync(json, join(folder, 'link.json'));
    const args = ['--param', `apiUrl=${api.origin}`, '--allow', api.hostPort, ...withKey];
    const { exitCode } = await runCss({ folder, input: peopleKey }, 'record', 'link.json', ...args);
    expect({ exitCode, mode: statSync(json).mode & 0o777 }).toEqual({ exitCode: 0, mode: 0o640 });
    expect((await css('test', 'people.json')).stdout).toContain('1 test passed');
  });

  it('changes nothing when the read fails', async () => {
    const { read, path } = authorsFolder(peopleSpec({ path: '/broken' }));
    const { exitCode, stderr } = await read('record', {}, ...withKey);
    expect({ exitCode, stderr }).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('Nothing was recorded.'),
    });
    expect(readFileSync(path, 'utf8')).toBe(peopleSpec({ path: '/broken' }));
  });
});

describe('css test', () => {
  it('shows what differs in a test that fails, and exits with 1', async () => {
    const { read, css, path } = authorsFolder();
    await read('record', {}, ...withKey);
    writeFileSync(path, readFileSync(path, 'utf8').replace('recordsOut: 4', 'recordsOut: 5'));
    const { exitCode, stdout } = await css('test', 'people.yaml');
    expect(exitCode).toBe(1);
    expect(stdout).toContain('FAIL  people: reads people as recorded');
    expect(stdout).toContain('expect.stats.recordsOut: expected 5, got 4');
    expect(stdout).toContain('1 of 1 test failed');
  });
});

describe('css import', () => {
  const openapi = {
    openapi: '3.0.0',
    info: { title: 'Acme CRM', version: '1' },
    servers: [{ url: 'https://api.acme.example' }],
    paths: {
      '/contacts': {
        get: {
          responses: {
            200: {
              description: 'Contacts',
              content: {
                'application/json': {
                  schema: { type: 'array', items: { type: 'object', properties: { id: { type: 'integer' } } } },
                },
              },
            },
          },
        },
      },
    },
  };

  it('writes a valid spec, says what became of each part, and replaces no file', async () => {
    const { css, folder } = authorsFolder();
    writeFileSync(join(folder, 'openapi.json'), JSON.stringify(openapi));
    const imported = await css('import', 'openapi', 'openapi.json', '--out', 'specs', '--key', 'acme', '--json');
    const { file, spec, report } = JSON.parse(imported.stdout);
    expect({ exitCode: imported.exitCode, file, key: spec.metadata.key, report }).toMatchObject({
      exitCode: 0,
      file: 'specs/acme.yaml',
      key: 'acme',
      report: [{ status: 'converted', path: null, reason: null }],
    });
    expect((await css('validate', 'specs/acme.yaml')).exitCode).toBe(0);
    const again = await css('import', 'openapi', 'openapi.json', '--out', 'specs', '--key', 'acme');
    expect(again).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('specs/acme.yaml exists') });
    const shown = await css('import', 'openapi', 'openapi.json');
    expect(shown).toMatchObject({
      stdout: expect.stringMatching(/^metadata:\n {2}key: acme-crm\n/),
      stderr: '1 of 1 converted\n',
    });
    expect((await css('import', 'openapi', 'people.yaml')).exitCode).toBe(1);
  });

  it('reads a description of several MB, which the service refuses with what to do', async () => {
    const { css, folder } = authorsFolder();
    const [path] = Object.values(openapi.paths);
    const fields = Object.fromEntries(
      Array.from({ length: 2_000 }, (_, index) => [`field_${index}`, { type: 'string' }]),
    );
    const schemas = Object.fromEntries(
      Array.from({ length: 60 }, (_, index) => [`Thing${index}`, { type: 'object', properties: fields }]),
    );
    const document = JSON.stringify({ ...openapi, paths: { '/contacts': path }, components: { schemas } });
    expect(document.length).toBeGreaterThan(3_000_000);
    writeFileSync(join(folder, 'large.json'), document);
    const { exitCode, stderr } = await css('import', 'openapi', 'large.json', '--out', 'specs', '--key', 'large');
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    const inService = importDocument({ format: 'openapi', document });
    await expect(inService).rejects.toMatchObject({
      issues: [{ message: 'the document has more than 100000 values: `css import` reads larger ones from a file' }],
    });
  });
});

describe('the command line', () => {
  it('is explained by --help, for each command too', async () => {
    const { css } = authorsFolder();
    expect(await css('--help')).toMatchObject({
      exitCode: 0,
      stderr: '',
      stdout: expect.stringContaining('Exit codes'),
    });
    expect((await css('try', '--help')).stdout).toContain('--secret <name=source>');
  });

  it.each([
    { args: ['frobnicate'], says: "Unknown command 'frobnicate'" },
    { args: ['try'], says: "Missing required argument 'file'" },
    { args: ['try', 'people.yaml', '--limit', 'x'], says: '--limit takes a whole number from 1.' },
    { args: ['try', 'people.yaml', '--param', 'apiKey=x'], says: 'apiKey is secret: use --secret apiKey=-' },
    {
      args: ['try', 'people.yaml', '--param', 'apiUrl=https://x.test', '--allow', 'x'],
      says: '--allow takes host:port',
    },
    { args: ['import', 'bogus', 'people.yaml'], says: '"bogus" cannot be imported. The formats are: airbyte, openapi' },
    { args: ['runs', '--profile', 'constructor'], says: 'There is no profile "constructor"' },
    { args: ['try', 'people.yaml'], says: 'apiUrl is required: --param apiUrl=VALUE' },
    { args: ['try', 'people.yaml', '--resource', 'pets'], says: 'There is no resource "pets". The spec has: people.' },
    { args: ['validate', 'nothing.yaml'], says: 'nothing.yaml cannot be read: there is no such file.' },
  ])('exits with 2 and one JSON document when it is not understood: $args', async ({ args, says }) => {
    const { css } = authorsFolder();
    const { exitCode, stdout, stderr } = await css(...args, '--json');
    expect({ exitCode, code: JSON.parse(stdout).error.code }).toEqual({ exitCode: 2, code: 'usage' });
    expect(stderr).toContain(says);
  });

  it('finds files from where it is called, as the program and as a script of npm', async () => {
    const { folder } = authorsFolder();
    const root = join(import.meta.dirname, '../..');
    const run = promisify(execFile);
    const program = await run(join(root, 'scripts/css.mjs'), ['validate', 'people.yaml'], { cwd: folder });
    expect(program.stdout).toBe('people.yaml is valid\n');
    const env = { ...process.env, INIT_CWD: folder, npm_lifecycle_event: 'css' };
    const script = await run(
      process.execPath,
      [join(root, 'scripts/run.mjs'), 'src/css.ts', 'validate', 'people.yaml'],
      { cwd: root, env },
    );
    expect(script.stdout).toBe('people.yaml is valid\n');
  });
});

import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type PeopleApi, peopleKey, peopleSpec, startPeopleApi } from '../support/cli/people-api.ts';
import { runCss } from '../support/cli/run-css.ts';
import { type AuditedDestination, openAuditedDestination } from '../support/destinations/audit.ts';
import { scratchFolder } from '../support/service/scratch-folder.ts';
import { type Stack, startStack } from '../support/service/stack.ts';

let stack: Stack;
let api: PeopleApi;
let destination: AuditedDestination;
const started = new AsyncDisposableStack();
beforeAll(async () => {
  api = started.use(await startPeopleApi());
  destination = started.use(await openAuditedDestination());
  stack = started.use(await startStack({ allow: [api.hostPort] }));
});
afterAll(() => started.disposeAsync());

/** A folder of an author who has added the service as a profile. */
async function author() {
  const folder = scratchFolder();
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
  const css = (...args: readonly string[]) => runCss({ folder }, ...args);
  const json = async (...args: readonly string[]) => JSON.parse((await css(...args, '--json')).stdout);
  write('people.yaml', peopleSpec());
  await runCss({ folder, input: `${stack.org.apiKey}\n` }, 'profile', 'add', 'test', '--url', `${stack.apiUrl}/api/v1`);
  return { folder, write, css, json };
}

describe('how customers may authorize connections', () => {
  it('is shown, and changes only where it is named', async () => {
    const { css, json } = await author();
    expect(await json('oauth')).toEqual({ returnOrigins: [], confirmationRequired: false });
    const origins = ['https://app.acme.example', 'http://localhost:5173'];
    await json('oauth', 'set', '--return-origin', ...origins, '--require-confirmation');
    expect((await css('oauth', 'show')).stdout).toBe(
      `return origins  ${origins.join(' ')}\nconfirmation    required\n`,
    );
    const changed = await json('oauth', 'set', '--no-require-confirmation');
    expect(changed).toEqual({ returnOrigins: origins, confirmationRequired: false });
    expect(await css('oauth', 'set')).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('--return-origin'),
    });
    expect((await css('oauth', 'apps')).stdout).toBe('No OAuth apps.\n');
    const refused = await css('oauth', 'set', '--return-origin', 'http://app.acme.example');
    expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('returnOrigins.0') });
  });
});

describe('the way of a spec to a service', () => {
  it('is pushed, pushed again, published, compared, run, and looked at', async () => {
    const { folder, css, json, write } = await author();
    expect(await json('push', 'people.yaml')).toMatchObject({ action: 'created', key: 'people', status: 'draft' });
    expect(await json('push', 'people.yaml')).toMatchObject({ action: 'replaced', version: '1.0.0' });
    expect((await css('diff', 'people.yaml')).stderr).toContain('has only drafts of it');
    expect(await json('publish', 'people@1.0.0')).toMatchObject({ status: 'published', version: '1.0.0' });
    const again = await css('push', 'people.yaml');
    expect({ exitCode: again.exitCode, stderr: again.stderr }).toEqual({
      exitCode: 1,
      stderr:
        'people@1.0.0 is published, and a published version never changes: raise metadata.version in the file, then push it.\n',
    });
    expect((await css('diff', 'people.yaml')).stdout).toContain('nothing that a run would notice differs');
    write('next.yaml', peopleSpec().replace('1.0.0', '1.1.0').replace('primaryKey: id', 'primaryKey: email'));
    expect(await json('diff', 'next.yaml')).toMatchObject({
      from: 'people@1.0.0',
      to: 'next.yaml',
      plan: { class: 'resets', resources: [{ resourceKey: 'people', changed: ['primaryKey'], resets: 'state' }] },
    });

    const values = ['--param', `apiUrl=${api.origin}`, '--secret', 'apiKey=-', '--secret', 'databaseUrl=-'];
    const create = ['connections', 'create', 'people.yaml', '--name', 'People \u001b[2J', ...values];
    const input = `${peopleKey}\n${destination.url}\n`;
    const elsewhere = await runCss({ folder, input }, ...create, '--workspace', 'none');
    expect(elsewhere).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('There is no workspace "none"') });
    const connection = JSON.parse((await runCss({ folder, input }, ...create, '--json')).stdout);
    expect(connection).toMatchObject({ status: 'pending', pinnedSpecVersion: '1.0.0' });
    expect(await json('connections', 'activate', connection.id)).toMatchObject({ status: 'active' });
    expect(await json('connections')).toMatchObject([{ id: connection.id, specKey: 'people', status: 'active' }]);
    const listed = (await css('connections')).stdout;
    expect(listed).toContain(`${connection.id}  active  people@1.0.0  People`);
    expect(listed).not.toContain('\u001b');

    const synced = await css('sync', connection.id, 'people', '--follow', '--json');
    const run = JSON.parse(synced.stdout);
    expect({ exitCode: synced.exitCode, run }).toMatchObject({
      exitCode: 0,
      run: { status: 'partial', statsJson: { recordsIn: 6, recordsOut: 4, skipped: 1, quarantined: 1 } },
    });
    expect(await json('runs', '--connection', connection.id)).toEqual([run]);
    const line = 'people  manual  partial  6 in, 4 out, 1 skipped, 1 quarantined';
    expect((await css('runs')).stdout).toContain(`${run.id}  ${connection.id}  ${line}`);
    expect((await css('runs', '--connection', connection.id)).stdout).toContain(`${run.id}  ${line}`);
    expect(await json('calls', run.id)).toMatchObject([{ sequence: 1, statusCode: 200 }, { sequence: 2 }]);
    expect((await css('quarantine', connection.id)).stdout).toMatch(
      /quar_\w+ {2}people {2}3 {2}open {2}name: must be string/,
    );
    expect((await css('quarantine', connection.id, '--open')).stdout).toContain('name: must be string');
    const logs = (await css('logs', connection.id)).stdout;
    expect(logs).toContain(`${run.id}  people  manual\n  1  GET  200  `);
    expect(logs).toContain('  partial: 6 in, 4 out, 1 skipped, 1 quarantined\n');
    const followed = await runCss(
      {
        folder: scratchFolder(),
        env: { CSS_API_URL: stack.apiUrl, CSS_API_KEY: stack.org.apiKey },
        onStart: ({ kill, whenPrinted }) => void whenPrinted('partial: 6 in').then(() => kill('SIGINT')),
      },
      ...['logs', connection.id, '--follow'],
    );
    expect(followed).toMatchObject({ exitCode: 130, stdout: logs });
    expect((await css('sync', connection.id, 'people', '--follow')).exitCode).toBe(0);
    const [newest, ...others] = await json('runs', '--limit', '1');
    expect({ others, isTheSecond: newest.id > run.id }).toEqual({ others: [], isTheSecond: true });
    expect((await css('logs', connection.id, '--runs', '1')).stdout).not.toContain(run.id);
    await stack.org.call('POST', '/quarantine/requeue', { body: { connectionId: connection.id } });
    expect((await css('quarantine', connection.id, '--open')).stdout).toBe('No record is open.\n');
    expect((await css('quarantine', connection.id)).stdout).toContain('resolved');
    for (const printed of [listed, logs, synced.stdout]) expect(printed).not.toContain(peopleKey);
  });

  it('is a failure with exit code 1 where the service rejects it, and the issues have their lines', async () => {
    const { css, write } = await author();
    write('bad.yaml', peopleSpec().replace('primaryKey', 'primarykey'));
    const pushed = await css('push', 'bad.yaml', '--json');
    expect({ exitCode: pushed.exitCode, json: JSON.parse(pushed.stdout) }).toMatchObject({
      exitCode: 1,
      json: {
        error: { code: 'validation', issues: [{ line: expect.any(Number) }, { path: 'resources.0.primarykey' }] },
      },
    });
    expect(await css('sync', 'con_none', 'people')).toMatchObject({
      exitCode: 1,
      stderr: 'Connection not found. css connections shows those of this org.\n',
    });
  });
});

describe('a connector that comes with the service', () => {
  it('is listed, and becomes a draft', async () => {
    const { css, json } = await author();
    const rows = await json('catalogue', 'list');
    expect(rows).toContainEqual(expect.objectContaining({ key: 'github', name: 'GitHub' }));
    expect(await json('catalogue', 'add', 'github')).toMatchObject({
      action: 'created',
      key: 'github',
      status: 'draft',
    });
    expect((await css('catalogue', 'add', 'github')).stdout).toContain('replaced the draft github@');
    expect((await css('catalogue', 'add', 'nothing')).exitCode).toBe(1);
  });
});

describe('two files', () => {
  it('are compared with all that an upgrade does, to resources that did not change too', async () => {
    const folder = scratchFolder();
    const incremental = 'incremental: { kind: cursor, cursor: { field: updated_at, type: datetime }, order: asc }';
    const before = peopleSpec().replace('    filter:', `    ${incremental}\n    filter:`);
    const pets = `  - key: pets
    primaryKey: id
    forEach: [{ as: person, resource: people, from: store }]
    request: { path: '/people/{{ each.person.full_name }}/pets' }
`;
    writeFileSync(join(folder, 'a.yaml'), before);
    writeFileSync(join(folder, 'b.yaml'), before.replace('destination:', `${pets}destination:`));
    const { stdout } = await runCss({ folder }, 'diff', 'a.yaml', 'b.yaml');
    expect(stdout).toContain('people (resets): Resources below it need other fields of its records');
    expect(stdout).toContain('pets (compatible): New: its first run reads everything.');
  });

  it('are compared without a service, and one that breaks something is exit code 1', async () => {
    const folder = scratchFolder();
    writeFileSync(join(folder, 'a.yaml'), peopleSpec());
    writeFileSync(join(folder, 'b.yaml'), peopleSpec().replaceAll('key: people\n', 'key: persons\n'));
    const { exitCode, stdout } = await runCss({ folder }, 'diff', 'a.yaml', 'b.yaml');
    expect(exitCode).toBe(1);
    expect(stdout).toContain('breaking: something stops working');
    expect(stdout).toContain('people (breaking): Removed: it can no longer be synced');
    expect(stdout).toContain('persons (compatible): New: its first run reads everything.');
  });

  it('are compared by the types of columns: one that cannot be written any more is exit code 1', async () => {
    const folder = scratchFolder();
    const typed = (type: string) =>
      peopleSpec().replace(
        'onInvalid: quarantine',
        `onInvalid: quarantine\n    target: { columns: { name: { type: ${type} } } }`,
      );
    for (const type of ['text', 'integer', 'uuid']) writeFileSync(join(folder, `${type}.yaml`), typed(type));
    const { exitCode, stdout } = await runCss({ folder }, 'diff', 'text.yaml', 'integer.yaml');
    expect(exitCode).toBe(1);
    expect(stdout).toContain('breaking: something stops working');
    expect(stdout).toMatch(/people \(breaking.*refuses every batch: alter "name" of people from text to integer/);
    // A column of text takes the values of the new type.
    expect((await runCss({ folder }, 'diff', 'text.yaml', 'uuid.yaml')).exitCode).toBe(0);
  });
});

describe('a profile', () => {
  it('is stored so that only its owner can read it, and its key is shown by no command', async () => {
    const { folder, css } = await author();
    const path = join(folder, '.config/css/config.json');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readFileSync(path, 'utf8')).toContain(stack.org.apiKey);
    const { stdout } = await css('profile', 'list');
    expect(stdout).toBe(`*  test  ${stack.apiUrl}\n`);
    chmodSync(path, 0o640);
    const refused = await css('runs');
    expect({ exitCode: refused.exitCode, stderr: refused.stderr }).toEqual({
      exitCode: 78,
      stderr: `${path} holds API keys, and others than its owner can read it. Run: chmod 600 ${path}\n`,
    });
  });

  it('is used, replaced and removed by its name', async () => {
    const { folder, css, json } = await author();
    await runCss(
      { folder, env: { KEY: 'ck_other' } },
      ...['profile', 'add', 'other', '--url', 'http://localhost:9/', '--api-key', 'env:KEY'],
    );
    expect(await json('profile', 'list')).toMatchObject([
      { name: 'test', current: false },
      { name: 'other', current: true },
    ]);
    expect(await css('runs')).toMatchObject({
      exitCode: 3,
      stderr: expect.stringContaining('(profile other) cannot be reached'),
    });
    expect((await css('runs', '--profile', 'test')).exitCode).toBe(0);
    await css('profile', 'use', 'test');
    expect((await css('runs')).exitCode).toBe(0);
    await css('profile', 'remove', 'test');
    expect(await css('runs')).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('No service is chosen.') });
    expect(await css('profile', 'use', 'test')).toMatchObject({ exitCode: 2 });
  });

  it('takes no key as an argument, and sends its key to no other address', async () => {
    const { folder, css } = await author();
    const typed = await css('profile', 'add', 'x', '--url', 'http://localhost:9', '--api-key', 'ck_typed_7431');
    expect(typed.exitCode).toBe(2);
    expect(typed.stdout + typed.stderr).not.toContain('ck_typed_7431');
    const elsewhere = await runCss({ folder, env: { CSS_API_URL: 'http://localhost:9' } }, 'runs');
    expect(elsewhere).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('CSS_API_URL is set without CSS_API_KEY'),
    });
  });

  it('whose key the service rejects is exit code 3', async () => {
    const { folder } = await author();
    const { exitCode, stderr } = await runCss({ folder, env: { CSS_API_KEY: 'ck_wrong' } }, 'connections');
    expect({ exitCode, stderr }).toMatchObject({
      exitCode: 3,
      stderr: expect.stringContaining('rejects the API key of CSS_API_KEY'),
    });
    expect(stderr).not.toContain('ck_wrong');
  });
});

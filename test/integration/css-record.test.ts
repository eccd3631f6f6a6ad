import { readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { useAuthors, withKey } from '../support/cli/authors.ts';
import { peopleKey, peopleSpec } from '../support/cli/people-api.ts';
import { runCss } from '../support/cli/run-css.ts';

const { api, authorsFolder } = useAuthors();

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
    const args = ['--param', `apiUrl=${api().origin}`, '--allow', api().hostPort, ...withKey];
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

  it('names a mock that no request used, and exits with 0', async () => {
    const { read, css, path } = authorsFolder();
    await read('record', {}, ...withKey);
    const unused = 'mocks:\n$1- request: { path: /never }\n$1  respond: { body: [] }\n$1- ';
    writeFileSync(path, readFileSync(path, 'utf8').replace(/mocks:\n( *)- /, unused));
    const { exitCode, stdout } = await css('test', 'people.yaml');
    expect({ exitCode, stdout }).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining('note: no request used mocks.0'),
    });
  });
});

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { folderWithSpec } from '../support/cli/authors.ts';
import { peopleSpec } from '../support/cli/people-api.ts';

describe('css validate', () => {
  it('says that a valid file is valid, as one JSON document, and exits with 0', async () => {
    const { css } = folderWithSpec(`# yaml-language-server: $schema=x\n${peopleSpec()}`);
    const { exitCode, stdout, stderr } = await css('validate', 'people.yaml', '--json');
    expect({ exitCode, stderr, json: JSON.parse(stdout) }).toEqual({
      exitCode: 0,
      stderr: '',
      json: { valid: true, issues: [] },
    });
  });

  it('names each issue with path, code and message, and with line and column in YAML, and exits with 1', async () => {
    const { css, folder } = folderWithSpec(peopleSpec().replace('primaryKey: id', 'primarykey: id'));
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
    const { css } = folderWithSpec(peopleSpec({ more: failing }));
    const { exitCode, stdout } = await css('validate', 'people.yaml', '--json');
    expect({ exitCode, issues: JSON.parse(stdout).issues }).toMatchObject({
      exitCode: 1,
      issues: [{ path: 'tests.0.mocks', message: 'test "reads": no mock matches GET /people: add one for it' }],
    });
  });

  it('refuses a file that the API would refuse: too long, broken, hostile', async () => {
    const { css, folder } = folderWithSpec();
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

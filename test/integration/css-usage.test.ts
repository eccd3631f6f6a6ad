import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { folderWithSpec } from '../support/cli/authors.ts';

describe('the command line', () => {
  it('is explained by --help, for each command too', async () => {
    const { css } = folderWithSpec();
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
    const { css } = folderWithSpec();
    const { exitCode, stdout, stderr } = await css(...args, '--json');
    expect({ exitCode, code: JSON.parse(stdout).error.code }).toEqual({ exitCode: 2, code: 'usage' });
    expect(stderr).toContain(says);
  });

  it('finds files from where it is called, as the program and as a script of npm', async () => {
    const { folder } = folderWithSpec();
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

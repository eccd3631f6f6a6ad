import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { installDependencies } from './dependencies.mjs';

const started = new AsyncDisposableStack();
afterEach(() => vi.unstubAllEnvs());
afterAll(() => started.disposeAsync());

interface Packages {
  readonly wanted: object;
  readonly installed: object;
}

/** A checkout with packages; `install` says which arguments npm got, and what was told. */
function checkout({ wanted, installed }: Packages) {
  const root = mkdtempSync(join(tmpdir(), 'connector-sync-packages-'));
  started.defer(() => rmSync(root, { recursive: true, force: true }));
  mkdirSync(join(root, 'node_modules'));
  mkdirSync(join(root, 'src'));
  writeFileSync(join(root, 'package-lock.json'), JSON.stringify({ packages: wanted }));
  writeFileSync(join(root, 'node_modules', '.package-lock.json'), JSON.stringify({ packages: installed }));
  writeFileSync(join(root, 'src', 'worker.ts'), 'console.log(1); setInterval(() => undefined, 1000);');
  const install = async () => {
    let told = '';
    const stderr = vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
      told += String(text);
      return true;
    });
    const calls: string[] = [];
    const run = async (_: string, args: readonly string[]) => {
      calls.push(args.join(' '));
      return { code: 0 };
    };
    try {
      await installDependencies({ root, node: process.execPath, env: process.env, run });
    } finally {
      stderr.mockRestore();
    }
    return { calls, told };
  };
  /** As `npm run worker` starts it, and as a unit of systemd may: by a path in its folder. */
  const runs = async (program: string) => {
    const child = spawn(process.execPath, [program], { cwd: root, stdio: ['ignore', 'pipe', 'ignore'] });
    await once(child.stdout, 'data');
    return async () => {
      child.kill('SIGKILL');
      await once(child, 'close');
    };
  };
  return { root, install, runs };
}

const service = { version: '1.0.0' };
const tool = { version: '2.0.0', dev: true };

describe('the launcher', () => {
  it('installs nothing in a folder from which something runs, and says what it would do', async () => {
    vi.stubEnv('NODE_ENV', '');
    const wanted = { 'node_modules/service': service, 'node_modules/tool': tool };
    const { root, install, runs } = checkout({ wanted, installed: { 'node_modules/service': service } });
    for (const program of [join(root, 'src/worker.ts'), 'src/worker.ts']) {
      const end = await runs(program);
      const { calls, told } = await install();
      expect(calls).toEqual([]);
      expect(told).toMatch(/not installed, because src\/worker\.ts \(process \d+\) runs .*to add tool@2\.0\.0/);
      await end();
    }
    expect((await install()).calls).toEqual([expect.stringContaining('ci --loglevel=error')]);
  });

  it('ends where the command itself lacks a package, and leaves the folder as it is', async () => {
    const wanted = { 'node_modules/service': { version: '1.1.0' } };
    const { install, runs } = checkout({ wanted, installed: { 'node_modules/service': service } });
    const end = await runs('src/worker.ts');
    await expect(install()).rejects.toThrow(/to add service@1\.1\.0\. Stop what runs there first/);
    await end();
  });
});

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../..');

interface Played {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The demo as a script runs it: no terminal, a data folder of its own. */
async function play(dataDir: string, ...options: readonly string[]): Promise<Played> {
  const child: ChildProcess = spawn(process.execPath, ['scripts/run.mjs', 'src/demo/demo.ts', ...options], {
    cwd: root,
    env: { ...process.env, DATA_DIR: dataDir },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (!child.stdout || !child.stderr) throw new Error('no pipes');
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  return { code, stdout, stderr };
}

/** Processes whose command line names the folder. */
const processesOf = (dataDir: string): readonly string[] =>
  execFileSync('ps', ['-eo', 'pid,args'], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line.includes(dataDir));

async function withDataDir(use: (dataDir: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'demo-'));
  try {
    await use(join(folder, 'data'));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const delivered = 100_000;
const first = { status: 'partial', recordsIn: delivered + 3, recordsOut: delivered, skipped: 0, quarantined: 3 };

describe('npm run demo', () => {
  test(
    '-- --once keeps every promise, prints one JSON line, exits 0 and leaves nothing running',
    { timeout: 240_000 },
    () =>
      withDataDir(async (dataDir) => {
        const { code, stdout, stderr } = await play(dataDir, '--once');
        expect(stdout.split('\n'), stderr).toHaveLength(2);
        expect(JSON.parse(stdout)).toMatchObject({
          ok: true,
          failures: [],
          run: first,
          rowsByCount: delivered,
          retries: 2,
          second: { status: 'succeeded', recordsOut: 0 },
          change: { status: 'succeeded', recordsOut: 2 },
          blocked: 'egress_blocked',
        });
        expect(code).toBe(0);
        expect(processesOf(dataDir)).toEqual([]);
        expect(existsSync(join(dataDir, 'ready.json'))).toBe(false);
        expect((await play(dataDir, '--reset')).code).toBe(0);
        expect(existsSync(dataDir)).toBe(false);
      }),
  );

  test('-- --crash --once kills the worker twice; no page and no row comes twice', { timeout: 300_000 }, () =>
    withDataDir(async (dataDir) => {
      const { code, stdout, stderr } = await play(dataDir, '--crash', '--once');
      expect(JSON.parse(stdout), stderr).toMatchObject({
        ok: true,
        run: first,
        crash: { kills: 2, completePagesFetchedAgain: 0, rowsInsertedAgain: 0, rowsUpdated: 0 },
      });
      expect(code).toBe(0);
      await play(dataDir, '--reset');
    }),
  );
});

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { processStart } from '../../src/dev/embedded/process-table.ts';
import type { ReadyFacts } from '../../src/dev/ready-file.ts';
import { eventually } from '../support/service/eventually.ts';
import { memoryFolder } from '../support/service/memory-folder.ts';

const root = resolve(import.meta.dirname, '../..');

interface Played {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** The last `ready.json` that was seen. */
  readonly ready: ReadyFacts | null;
}

/** The demo as a script runs it: no terminal, a data folder of its own. */
async function play(dataDir: string, ...options: readonly string[]): Promise<Played> {
  const child: ChildProcess = spawn(process.execPath, ['scripts/run.mjs', 'src/dev/demo/demo.ts', ...options], {
    cwd: root,
    env: { ...process.env, DATA_DIR: dataDir },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (!child.stdout || !child.stderr) throw new Error('no pipes');
  const ended = Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  const ready = await watchReady(join(dataDir, 'ready.json'), child);
  const [stdout, stderr, [code]] = await ended;
  return { code, stdout, stderr, ready };
}

/** Reads the file again and again until the process ends. */
async function watchReady(path: string, child: ChildProcess): Promise<ReadyFacts | null> {
  let last: ReadyFacts | null = null;
  const hasEnded = async () => {
    if (existsSync(path)) last = JSON.parse(readFileSync(path, 'utf8')) as ReadyFacts;
    return child.exitCode !== null || child.signalCode !== null;
  };
  await eventually('the demo ends', hasEnded, { timeoutMs: 300_000 });
  return last;
}

/** PostgreSQL may keep its data elsewhere when root's folders are closed to it; `--reset` knows where. */
async function withDataDir(use: (dataDir: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(memoryFolder(), 'demo-'));
  try {
    await use(join(folder, 'data'));
  } finally {
    await play(join(folder, 'data'), '--reset');
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
        const { code, stdout, stderr, ready } = await play(dataDir, '--once');
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
        const pids = Object.entries(ready?.pids ?? {});
        expect(pids.map(([name]) => name)).toEqual(['supervisor', 'api', 'worker', 'postgres', 'temporal']);
        expect(pids.filter(([, pid]) => pid !== null && processStart(pid) !== null)).toEqual([]);
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
    }),
  );
});

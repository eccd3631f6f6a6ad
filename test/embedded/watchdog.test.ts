import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../src/dev/embedded/ports.ts';
import { identify } from '../../src/dev/embedded/process-table.ts';
import type { ReadyFacts, StackPids } from '../../src/dev/ready-file.ts';
import { figure } from '../support/security/figure.ts';
import { eventually } from '../support/service/eventually.ts';
import { memoryFolder } from '../support/service/memory-folder.ts';
import { useStack } from '../support/service/use-stack.ts';
import { expectExactlyOnce, inFlightMax } from '../support/sync/exactly-once.ts';
import { createSync } from '../support/sync/sync.ts';
import { generateRecords } from '../support/upstream/upstream.ts';
import { watchPages } from '../support/upstream/watched-upstream.ts';
import { nothingLeft, type SupervisorProcess, startSupervisor } from './supervisor-process.ts';

const perPage = 100;
const records = 150 * perPage;
const watch = watchPages(perPage);
/** It has no worker: the one of the supervisor does the work. */
const shared = useStack(
  {
    collections: Object.fromEntries(['frozen', 'looping', 'killed'].map((name) => [name, generateRecords(records)])),
    reply: watch.reply,
    latencyMs: 5,
  },
  { workers: 0 },
);

/** Loaded into every process: SIGUSR2 sends its event loop into a loop that never ends. */
const loopOnSignal = `data:text/javascript,${encodeURIComponent("process.on('SIGUSR2', () => { for (;;); });")}`;

const dataDir = mkdtempSync(join(memoryFolder(), 'connector-sync-watchdog-'));
let supervisor: SupervisorProcess;
beforeAll(async () => {
  const env = {
    ...shared().stack.env,
    DATA_DIR: dataDir,
    PORT: String(await freePort(3900)),
    NODE_OPTIONS: `--import ${loopOnSignal}`,
  };
  supervisor = startSupervisor({ command: process.execPath, args: ['scripts/run.mjs', 'src/start.ts'], env });
  await supervisor.line('apiUrl');
});
afterAll(async () => {
  await supervisor[Symbol.asyncDispose]();
  await nothingLeft(dataDir);
  rmSync(dataDir, { recursive: true, force: true });
});

const ready = (): ReadyFacts => JSON.parse(readFileSync(join(dataDir, 'ready.json'), 'utf8'));
type Name = 'api' | 'worker';

/** Ends or freezes a process; the pid of the one that takes its place. */
async function replaced(name: Name, signal: NodeJS.Signals): Promise<number> {
  const { [name]: before }: StackPids = ready().pids;
  process.kill(before ?? 0, signal);
  return await eventually(`another ${name} after ${signal}`, async () => {
    const { [name]: now }: StackPids = ready().pids;
    return now !== before && now;
  });
}

const serves = (): Promise<boolean> =>
  eventually('the API serves', async () => (await fetch(`${ready().apiUrl}/api/health`)).ok, { everyMs: 20 });

/** Processes that a process has started, and the CPU time they have used. */
function childrenOf(parent: number | null) {
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,time='], { encoding: 'utf8' }).split('\n');
  return lines.flatMap((line) => {
    const [pid, ppid, time = ''] = line.trim().split(/\s+/);
    if (Number(ppid) !== parent) return [];
    const inWholeSeconds = time.split(':').reduce((sum, part) => sum * 60 + Number(part), 0);
    return [{ pid: Number(pid), cpuSeconds: cpuSecondsOf(Number(pid)) ?? inWholeSeconds }];
  });
}

/** As Linux has it, in hundredths; null: the process has ended, or the system is another. */
function cpuSecondsOf(pid: number): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) / 100;
  } catch {
    return null;
  }
}

const harms = [
  ['killed', 'SIGKILL'],
  ['frozen', 'SIGSTOP'],
  ['looping', 'SIGUSR2'],
] as const;

describe('npm start', () => {
  it.each(harms)(
    'replaces an API that is %s by one that serves',
    async (how, signal) => {
      const startedAt = performance.now();
      await replaced('api', signal);
      expect(await serves()).toBe(true);
      if (how === 'killed') figure('killedBackMs', { count: Math.round(performance.now() - startedAt), of: 1 });
      figure('notReplaced', { count: 0, of: 1 });
    },
    60_000,
  );

  it('leaves no evaluator of a killed API behind in the midst of an expression', async () => {
    const { apiUrl, pids } = ready();
    const body = JSON.stringify({
      expression: '{ "s": $contains(s, /^(a+)+$/) }',
      record: { s: `${'a'.repeat(40)}!` },
    });
    const headers = { authorization: `Bearer ${shared().stack.org.apiKey}` };
    const ask = () => fetch(`${apiUrl}/api/v1/specs/transform-preview`, { method: 'POST', headers, body });
    const previews: Promise<unknown>[] = [];
    const before = new Map<number, number>();
    const busyEvaluator = async () => {
      // A busy machine may give an evaluator too little of its time before its limit ends it: then another is asked.
      if (previews.length < 60) previews.push(ask());
      return childrenOf(pids.api).find(({ pid, cpuSeconds }) => {
        const isAtWork = cpuSeconds >= (before.get(pid) ?? cpuSeconds) + 0.03;
        before.set(pid, cpuSeconds);
        return isAtWork && cpuSeconds >= 0.2;
      });
    };
    const evaluator = await eventually('an evaluator at work', busyEvaluator, { everyMs: 50 });
    process.kill(pids.api ?? 0, 'SIGKILL');
    const outcomes = await Promise.allSettled(previews);
    expect(outcomes.map(({ status }) => status)).toContain('rejected');
    expect(await eventually('the evaluator is gone', async () => identify(evaluator.pid) === null)).toBe(true);
    await serves();
  });

  it.each(harms)(
    'replaces a worker that is %s, and its sync loses nothing and delivers nothing twice',
    async (how, signal) => {
      const { stack, upstream } = shared();
      await using sync = await createSync(stack, { upstream, collection: how, perPage });
      const runId = await sync.requestPaused();
      const replied = watch.replied(how, 50);
      upstream.resume();
      await replied;
      await replaced('worker', signal);
      await expectExactlyOnce(stack, { sync, runId }, { records, inFlight: [inFlightMax(perPage)] });
      figure('notReplaced', { count: 0, of: 1 });
    },
    120_000,
  );
});

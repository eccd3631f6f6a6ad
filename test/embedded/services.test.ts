import { execFileSync } from 'node:child_process';
import { chownSync, copyFileSync, linkSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { freePort } from '../../src/dev/embedded/ports.ts';
import { isReachable } from '../../src/dev/embedded/postgres-owner.ts';
import { identify, isRunning } from '../../src/dev/embedded/process-table.ts';
import { eventually } from '../support/service/eventually.ts';
import { memoryFolder } from '../support/service/memory-folder.ts';
import { nothingLeft, processesWith, root, type SupervisorProcess, startSupervisor } from './supervisor-process.ts';

const asRoot = process.getuid?.() === 0;
/** The user `nobody` of every Unix. */
const nobody = { uid: 65_534, gid: 65_534 };

interface Places {
  readonly databaseUrl: string;
  readonly temporalAddress: string;
  readonly temporalNamespace: string;
  readonly pids: { readonly postgres: number; readonly temporal: number };
}

let dataDir = '';
beforeEach(() => {
  dataDir = mkdtempSync(join(memoryFolder(), 'connector-sync-embedded-'));
});
afterEach(async () => {
  await nothingLeft(dataDir);
  rmSync(dataDir, { recursive: true, force: true });
});

const serve = (folder = dataDir): SupervisorProcess =>
  startSupervisor({ command: process.execPath, args: ['test/embedded/serve.ts'], env: environment(folder) });

/** Both services are to be embedded, whatever is set around the tests. */
const environment = (folder: string): NodeJS.ProcessEnv => ({
  DATA_DIR: folder,
  DATABASE_URL: undefined,
  TEMPORAL_ADDRESS: undefined,
  NODE_ENV: 'test',
});

async function placesOf(supervisor: SupervisorProcess): Promise<Places> {
  return (await supervisor.line('databaseUrl')) as unknown as Places;
}

async function query(databaseUrl: string, sql: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: databaseUrl });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

async function stopCleanly(supervisor: SupervisorProcess): Promise<void> {
  supervisor.kill('SIGTERM');
  expect(await supervisor.ended()).toBe(0);
  expect(processesWith(dataDir)).toEqual([]);
}

describe('embedded services', () => {
  // Only root can drop to another user; everybody else is covered by the other tests.
  it.runIf(asRoot)('run for root, with PostgreSQL as another user', async () => {
    await using supervisor = serve();
    const { databaseUrl, pids } = await placesOf(supervisor);
    expect(await query(databaseUrl, 'show max_connections')).toEqual([{ max_connections: '200' }]);
    expect(statSync(`/proc/${pids.postgres}`).uid).not.toBe(0);
    expect(statSync(join(dataDir, 'postgres')).uid).toBe(statSync(`/proc/${pids.postgres}`).uid);
    for (const name of ['postgres-password', 'temporal.db', 'temporal.db-wal'])
      expect(statSync(join(dataDir, name)).mode & 0o777).toBe(0o600);
    await stopCleanly(supervisor);
  });

  it('run for an ordinary user', async ({ skip }) => {
    if (!asRoot) {
      await using supervisor = serve();
      expect(await query((await placesOf(supervisor)).databaseUrl, 'select 1 as one')).toEqual([{ one: 1 }]);
      await stopCleanly(supervisor);
      return;
    }
    if (!isReachable(join(root, 'src'), nobody)) skip(`${root} is closed to other users`);
    chownSync(dataDir, nobody.uid, nobody.gid);
    const programs = mkdtempSync(join(tmpdir(), 'connector-sync-programs-'));
    const node = reachable(process.execPath, join(programs, 'node'));
    const cli = reachable(process.env['TEMPORAL_CLI'] ?? '', join(programs, 'temporal'));
    chownSync(programs, nobody.uid, nobody.gid);
    const env = { ...environment(dataDir), HOME: '/nonexistent', TEMPORAL_CLI: cli };
    await using supervisor = startSupervisor({ command: node, args: ['test/embedded/serve.ts'], env, user: nobody });
    const { databaseUrl, pids } = await placesOf(supervisor);
    expect(await query(databaseUrl, 'select 1 as one')).toEqual([{ one: 1 }]);
    expect(statSync(`/proc/${pids.postgres}`).uid).toBe(nobody.uid);
    await stopCleanly(supervisor);
    rmSync(programs, { recursive: true });
  });

  it('come back on the port that PostgreSQL had, so that addresses of its database stay true', async () => {
    {
      await using supervisor = serve();
      await placesOf(supervisor);
      await stopCleanly(supervisor);
    }
    const note = join(dataDir, 'postgres', 'postmaster.opts');
    const port = await freePort(41_000 + (process.pid % 1000));
    writeFileSync(note, readFileSync(note, 'utf8').replace(/"-p" "\d+"/, `"-p" "${port}"`));
    await using supervisor = serve();
    expect(new URL((await placesOf(supervisor)).databaseUrl).port).toBe(String(port));
    await stopCleanly(supervisor);
  });

  it('take other ports when theirs are taken', async () => {
    const other = mkdtempSync(join(memoryFolder(), 'connector-sync-embedded-'));
    await using first = serve();
    await using second = serve(other);
    const [one, two] = await Promise.all([placesOf(first), placesOf(second)]);
    expect(new URL(one.databaseUrl).port).not.toBe(new URL(two.databaseUrl).port);
    expect(one.temporalAddress).not.toBe(two.temporalAddress);
    // Each reaches its own server: the other's password is another.
    expect(await query(one.databaseUrl, 'select 1 as one')).toEqual([{ one: 1 }]);
    expect(await query(two.databaseUrl, 'select 1 as one')).toEqual([{ one: 1 }]);
    second.kill('SIGTERM');
    expect(await second.ended()).toBe(0);
    rmSync(other, { recursive: true, force: true });
    await stopCleanly(first);
  });

  it('refuse a second supervisor on the same folder and leave the first alone', async () => {
    await using first = serve();
    const { databaseUrl, pids } = await placesOf(first);
    await using second = serve();
    expect(await second.ended()).toBe(1);
    expect(second.stderr()).toMatch(new RegExp(`in use by process ${first.pid}, which serves http`));
    expect([pids.postgres, pids.temporal].map((pid) => identify(pid) !== null)).toEqual([true, true]);
    expect(await query(databaseUrl, 'select 1 as one')).toEqual([{ one: 1 }]);
    await stopCleanly(first);
  });

  it('do not outlive a supervisor that was killed, and start again with their data', async () => {
    await using killed = serve();
    await query((await placesOf(killed)).databaseUrl, 'create table kept as select 7 as value');
    killed.kill('SIGKILL');
    await nothingLeft(dataDir);
    await using next = serve();
    expect(await query((await placesOf(next)).databaseUrl, 'select value from kept')).toEqual([{ value: 7 }]);
    await stopCleanly(next);
  });

  it('that outlived both supervisor and guardian are stopped by the next start', async () => {
    await using killed = serve();
    const before = await placesOf(killed);
    const left = [before.pids.postgres, before.pids.temporal].map(identify).filter((found) => found !== null);
    expect(left).toHaveLength(2);
    await killGuardianOf(killed);
    killed.kill('SIGKILL');
    await killed.ended();
    await using next = serve();
    const after = await placesOf(next);
    expect(left.map(isRunning)).toEqual([false, false]);
    expect(await query(after.databaseUrl, 'select 1 as one')).toEqual([{ one: 1 }]);
    await stopCleanly(next);
  });

  it('are started again when they die, at the same address', async () => {
    await using supervisor = serve();
    const { databaseUrl, temporalAddress, pids } = await placesOf(supervisor);
    for (const pid of [pids.postgres, pids.temporal]) process.kill(pid, 'SIGKILL');
    await eventually('PostgreSQL responds', () => query(databaseUrl, 'select 1 as one'));
    const names = await eventually('Temporal responds', () => searchAttributesOf(temporalAddress));
    expect(names).toContain('CssRunId');
    await stopCleanly(supervisor);
  });

  it('give Temporal the search attributes of temporal-dev.yaml', async () => {
    await using supervisor = serve();
    const { temporalAddress, temporalNamespace } = await placesOf(supervisor);
    expect(temporalNamespace).toBe('default');
    const names = await searchAttributesOf(temporalAddress);
    expect(names).toEqual(
      expect.arrayContaining(['CssOrgId', 'CssConnectionId', 'CssResourceKey', 'CssRunId', 'CssTrigger', 'CssStage']),
    );
    await stopCleanly(supervisor);
  });
});

/** A program in a folder every user can reach: a link where possible, it may be large. */
function reachable(program: string, to: string): string {
  try {
    linkSync(program, to);
  } catch {
    copyFileSync(program, to);
  }
  return to;
}

function parentOf(pid: number): number {
  return Number(execFileSync('ps', ['-o', 'ppid=', '-p', String(pid)], { encoding: 'utf8' }));
}

/** Stops the supervisor from starting its guardian again, then kills the guardian. */
async function killGuardianOf(supervisor: SupervisorProcess): Promise<void> {
  supervisor.kill('SIGSTOP');
  const guardian = await eventually('the guardian', async () =>
    processesWith('embedded/guardian.ts').find((line) => parentOf(Number(line.split(' ')[0])) === supervisor.pid),
  );
  process.kill(Number(guardian.split(' ')[0]), 'SIGKILL');
}

async function searchAttributesOf(address: string): Promise<readonly string[]> {
  const connection = await Connection.connect({ address, connectTimeout: 2000 });
  try {
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace: 'default' });
    return Object.keys(customAttributes ?? {});
  } finally {
    await connection.close();
  }
}

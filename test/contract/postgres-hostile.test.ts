import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { claimLane } from '../../src/core/destinations/postgres/checkpoint.ts';
import { PostgresProtocolError } from '../../src/core/destinations/postgres/message.ts';
import { openPostgres } from '../../src/core/destinations/postgres/postgres.ts';
import { readTables } from '../../src/core/destinations/postgres/table.ts';
import { ThrottledError } from '../../src/core/model/throttled.ts';
import { createPostgresPlace, guardFor, optionsFor } from '../support/destinations/postgres-kind.ts';
import { record } from '../support/postgres-fuzz/recording.ts';
import { noRow, rowOf as responseOf, scriptedSession } from '../support/postgres-fuzz/scripted-server.ts';
import { figure } from '../support/security/figure.ts';
import { testDatabaseUrl } from '../support/service/database-server.ts';
import { scratchFolder } from '../support/service/scratch-folder.ts';
import { batchOf, claimOf, rowOf } from '../support/sync/batches.ts';

const url = testDatabaseUrl();
const program = join(import.meta.dirname, '../support/postgres-fuzz/process.ts');
const certificates = join(import.meta.dirname, '../fixtures/tls');
/** More where somebody has the time: `npm run trust`. */
const cases = Number(process.env['FUZZ_CASES'] ?? 500);

describe('a server that sends what no PostgreSQL sends', () => {
  it(
    'ends its own session and nothing else: recordings of a real one, changed at random',
    async () => {
      await using place = await createPostgresPlace();
      const recording = await record(Number(url.port), async (port) => {
        await using destination = openPostgres(optionsFor(url, port), { guard: guardFor(port), orgId: 'org_1' });
        await destination.open(claimOf(place.schema));
        await destination.apply(batchOf([rowOf('1')]));
      });
      expect(recording.length).toBeGreaterThan(5);
      const file = join(scratchFolder(), 'recording.json');
      writeFileSync(file, JSON.stringify(recording.map((response) => response.toString('base64'))));
      const ended = await run([file, String(cases), '1', certificates]);
      figure('hostileDatabaseEnds', { count: ended.code === 0 ? 0 : 1, of: cases });
      expect(ended, ended.stderr).toMatchObject({ code: 0 });
      const report = JSON.parse(ended.stdout) as Report;
      figure('hostileDatabaseLagMs', { count: Math.round(report.lagMs), of: cases });
      figure('hostileDatabaseMemory', { count: Math.round(report.bytes / 1e6), of: cases });
      expect(report.cases).toBe(cases);
      // Each kind of login is one that the driver takes as long as nothing is changed.
      const kinds = ['no password', 'clear text', 'MD5', 'SCRAM-SHA-256'];
      expect(report.unchanged).toEqual(Object.fromEntries(kinds.map((kind) => [kind, 'completed'])));
      // What ended a session has a code of its own: nothing surprised the engine.
      const known = ['completed', 'destination_rejected', 'destination_unavailable', 'destination_login', 'fenced'];
      expect(Object.keys(report.results).filter((code) => !known.includes(code))).toEqual([]);
      expect(report.results['destination_rejected']).toBeGreaterThan(cases / 10);
    },
    cases * 100 + 60_000,
  );
});

/** The response to a claim whose receipt is so large that it is left out. */
function announced(bytes: number): Buffer {
  return responseOf([
    ['runId', 25, 'run_1'],
    ['batchNo', 23, '2'],
    ['bytes', 23, String(bytes)],
    ['receipt', 25, null],
  ]);
}

describe('a value of a server', () => {
  const written = { schema: 'public', written: 'items' };
  const claim = { ...claimOf('public'), fence: 1 };

  it('stays the text that it is, whatever type the server names', async () => {
    // Booleans, numbers, JSON, bytes, times, intervals, arrays, rows.
    const types = [16, 17, 20, 21, 23, 26, 114, 199, 600, 1007, 1009, 1114, 1184, 1186, 1700, 2249, 3802];
    const cells = types.map((type) => [`of${type}`, type, '[[],[]]'] as const);
    await using scripted = await scriptedSession([responseOf(cells)]);
    const [row] = await scripted.session.query('select');
    expect(row).toEqual(Object.fromEntries(cells.map(([name]) => [name, '[[],[]]'])));
  });

  it('is not parsed as a receipt of millions of lists, which takes seconds', async () => {
    const receipt = Buffer.from(`[${'[],'.repeat(20_000_000)}[]]`);
    await using scripted = await scriptedSession([announced(receipt.length), responseOf([['receipt', 114, receipt]])]);
    const opened = await claimLane(scripted.session, written, claim);
    expect(opened.checkpoint?.receipt).toHaveLength(receipt.length);
  });

  it('is read as a large receipt within the memory of the org, and no more of it than was announced', async () => {
    const receipt = 'x'.repeat(3_000_000);
    await using scripted = await scriptedSession([
      announced(receipt.length - 100_000),
      responseOf([['receipt', 25, receipt]]),
    ]);
    const taken: number[] = [];
    const held = { ...claim.held, hold: (bytes: number) => void taken.push(bytes) };
    await expect(claimLane(scripted.session, written, { ...claim, held })).rejects.toThrow('larger than any');
    expect(taken).toEqual([2 * 2_900_000]);
  });

  it('is not read as a large receipt once a later attempt has taken the lane', async () => {
    await using scripted = await scriptedSession([announced(3_000_000), noRow]);
    await expect(claimLane(scripted.session, written, claim)).rejects.toMatchObject({ code: 'fenced' });
  });

  it('is not read as a large receipt while others hold the memory', async () => {
    const receipt = 'x'.repeat(3_000_000);
    await using scripted = await scriptedSession([announced(receipt.length), responseOf([['next', 25, 'statement']])]);
    const busy = new ThrottledError(1000, { reason: 'memory' });
    const hold = () => {
      throw busy;
    };
    await expect(claimLane(scripted.session, written, { ...claim, held: { ...claim.held, hold } })).rejects.toBe(busy);
    expect(await scripted.session.query('select')).toEqual([{ next: 'statement' }]);
  });

  it.each([
    ['a receipt with the claim that it had to leave out', responseOf([['receipt', 25, 'x'.repeat(3_000_000)]])],
    ['a receipt of a size that no receipt has', announced(65 * 1024 * 1024)],
    [
      'a receipt of a size that is no number',
      responseOf([
        ['bytes', 23, 'NaN'],
        ['runId', 25, 'r'],
      ]),
    ],
  ])('%s ends the run', async (_, response) => {
    await using scripted = await scriptedSession([response]);
    await expect(claimLane(scripted.session, written, claim)).rejects.toThrow(/larger than any|was changed/);
  });

  it.each(['-1', '1.5', 'x', '99999999999', ''])('that is no number of a batch ends the run: %j', async (batchNo) => {
    const cells = [['runId', 25, 'run_1'] as const, ['batchNo', 25, batchNo] as const, ['receipt', 25, '{}'] as const];
    await using scripted = await scriptedSession([responseOf(cells)]);
    await expect(claimLane(scripted.session, written, claim)).rejects.toMatchObject({ code: 'destination_rejected' });
  });

  it.each([
    ['is not JSON', '[', '[]'],
    ['has more values than a table has columns', `[${'[],'.repeat(1_000_000)}[]]`, '[]'],
    ['has columns of another form', '[{"name":1}]', '[]'],
    ['has keys of another form', '[]', '[1]'],
  ])('that describes a table and %s ends the run', async (_, columns, keys) => {
    const cells = [
      ['name', 19, 'items'] as const,
      ['kind', 18, 'r'] as const,
      ['columns', 114, columns] as const,
      ['keys', 114, keys] as const,
    ];
    await using scripted = await scriptedSession([responseOf(cells)]);
    const read = readTables(scripted.session, { schema: 'public', names: ['items'] });
    await expect(read).rejects.toThrow(PostgresProtocolError);
  });
});

interface Report {
  readonly cases: number;
  /** The longest that the process did nothing else. */
  readonly lagMs: number;
  /** Its largest resident set. */
  readonly bytes: number;
  /** How a session of each kind of login ends when nothing is changed. */
  readonly unchanged: Readonly<Record<string, string>>;
  readonly results: Readonly<Record<string, number>>;
}

interface Ended {
  /** Null: killed, since it said nothing. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function run(args: readonly string[]): Promise<Ended> {
  const child = spawn(process.execPath, [program, ...args], { timeout: cases * 100 + 50_000, killSignal: 'SIGKILL' });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk) => (stdout += chunk));
  child.stderr.on('data', (chunk) => (stderr += chunk));
  return new Promise((resolve) => {
    child.once('close', (code) => resolve({ code, stdout, stderr }));
  });
}

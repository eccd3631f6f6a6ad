import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openPostgres } from '../../src/core/destinations/postgres/postgres.ts';
import { createPostgresPlace, guardFor, optionsFor } from '../support/destinations/postgres-kind.ts';
import { record } from '../support/postgres-fuzz/recording.ts';
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

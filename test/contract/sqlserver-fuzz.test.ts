import { readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { expect, it } from 'vitest';
import { AppError } from '../../src/core/errors.ts';
import { egressBlocked } from '../../src/core/http/egress-blocked.ts';
import { figure } from '../support/security/figure.ts';
import { eventually } from '../support/service/eventually.ts';
import { driverProcesses } from '../support/sqlserver/driver-processes.ts';
import { connectFake, laneScript, openGuard } from '../support/sqlserver/script.ts';
import { startTdsFake } from '../support/sqlserver/tds-fake.ts';
import { mutation } from '../support/sqlserver/tds-mutations.ts';
import type { Tamper } from '../support/sqlserver/tds-wire.ts';
import { batchOf, claimOf, columnOf, rowOf } from '../support/sync/batches.ts';

/** Sessions with a response that is changed; `npm run trust` asks for more. */
const cases = Number(process.env['FUZZ_CASES'] ?? 500);
/** Lanes at once, each of an org of its own. */
const lanes = 4;
/** Behind so many cases of a lane a session that nobody changes has to succeed. */
const honestEvery = 25;
/** Processes that wait for a next session, as the service keeps them. */
const idleMax = 4;

const fixture = (name: string) => readFileSync(new URL(`../fixtures/tls/${name}`, import.meta.url), 'utf8');
const tls = { cert: fixture('db.test.crt'), key: fixture('db.test.key') };
const hasty = { connectMs: 300, statementMs: 150, lockMs: 50 };
const claim = claimOf('dbo', { columns: [columnOf('a', 'text'), columnOf('n', 'bigint')] });
const rows = [rowOf('1', { a: 'é😀', n: '1' }), rowOf('2', { a: null, n: 2 })];

it(
  'responses that are changed at random cost their own session only',
  async () => {
    const unhandled: unknown[] = [];
    const note = (error: unknown) => void unhandled.push(error);
    process.on('uncaughtExceptionMonitor', note);
    const delay = monitorEventLoopDelay({ resolution: 20 });
    delay.enable();
    const failures = (await Promise.all(Array.from({ length: lanes }, (_, lane) => runLane(lane)))).flat();
    delay.disable();
    process.off('uncaughtExceptionMonitor', note);
    figure('tdsUnhandled', { count: unhandled.length + failures.length, of: cases });
    figure('tdsLoopMs', { count: Math.round(delay.max / 1e6), of: cases });
    expect(unhandled).toEqual([]);
    expect(failures).toEqual([]);
    await eventually(
      'no process is left but those that wait',
      async () => driverProcesses(process.pid).length <= idleMax,
    );
  },
  60_000 + cases * 100,
);

/** Every case of a lane; what should not have happened, by its case. */
async function runLane(lane: number): Promise<readonly string[]> {
  const seeds = Array.from({ length: Math.ceil((cases - lane) / lanes) }, (_, n) => lane + n * lanes);
  const failures: string[] = [];
  for (let from = 0; from < seeds.length; from += honestEvery) {
    // Servers remember what they were asked.
    failures.push(...(await runPart(seeds.slice(from, from + honestEvery), `org_${lane}`)));
  }
  return failures;
}

async function runPart(seeds: readonly number[], orgId: string): Promise<readonly string[]> {
  let tamper: Tamper | null = null;
  const script = { ...laneScript(undefined, () => orgId), tamper: (): Tamper => tamper ?? ((bytes) => bytes) };
  await using plain = await startTdsFake(script);
  await using encrypted = await startTdsFake({ ...script, tls });
  const ports = [plain.port, encrypted.port];
  const guard: typeof openGuard = {
    ...openGuard,
    vetHost: async (host, port) => {
      if (!ports.includes(port)) throw egressBlocked('address');
      return openGuard.vetHost(host, port);
    },
  };
  const deliver = async (isEncrypted: boolean, deps: Parameters<typeof connectFake>[2]): Promise<void> => {
    const options = isEncrypted ? { host: 'db.test', encrypt: true, ca: tls.cert } : {};
    const server = isEncrypted ? encrypted : plain;
    await using destination = connectFake(server, options, { guard, orgId, ...deps });
    await destination.open(claim);
    await destination.apply(batchOf(rows));
  };
  const failures: string[] = [];
  for (const [index, seed] of seeds.entries()) {
    tamper = mutation(seed);
    await deliver(index % 2 === 1, { limits: hasty }).catch((error: unknown) => {
      if (!(error instanceof AppError)) failures.push(`${seed}: ${String(error)}`);
    });
  }
  tamper = null;
  await deliver(seeds.length % 2 === 1, {}).catch((error: unknown) =>
    failures.push(`after ${seeds.at(-1)}: ${String(error)}`),
  );
  return failures;
}

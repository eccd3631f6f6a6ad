import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { driverFlags } from '../../src/core/destinations/sqlserver/driver/children.ts';
import { eventually } from '../support/service/eventually.ts';
import { driverProcesses } from '../support/sqlserver/driver-processes.ts';
import { type HostileResponse, startHostileSqlServer } from '../support/sqlserver/hostile-sqlserver.ts';
import { connectFake, isBatch, laneScript } from '../support/sqlserver/script.ts';
import { startTdsFake } from '../support/sqlserver/tds-fake.ts';
import { batchOf, claimOf, columnOf, rowOf } from '../support/sync/batches.ts';

const claim = claimOf('dbo');
const mib = 1024 * 1024;
const own = (): readonly number[] => driverProcesses(process.pid);

describe('a server that sends', () => {
  const protocol = { code: 'destination_rejected', message: expect.stringContaining('protocol of SQL Server') };
  const flood = {
    code: 'destination_rejected',
    message: expect.stringContaining('more than was requested'),
  };
  // It takes the driver's memory or freezes it: what is noticed first ends it.
  const memory = { message: expect.stringMatching(/more memory than a session|could not process what .* within 5 s/) };

  it.each<readonly [HostileResponse, object]>([
    // The driver takes its length at its word, and overlooks its own clock while it waits for the rest.
    [
      'garbage',
      { code: 'destination_unavailable', message: expect.stringContaining('the response was not complete within') },
    ],
    ['garbage in a statement', protocol],
    ['rows without an end', flood],
    ['a value without an end', flood],
    ['a value in chunks of a byte', memory],
    ['rows of a thousand columns, a bit each', flood],
    ['messages to print without an end', flood],
    // It freezes the driver or takes its memory: what is noticed first ends it.
    [
      'a size of packets that leaves no room',
      {
        message: expect.stringMatching(
          /could not process what the server sent within 5 s|more memory|was not complete within/,
        ),
      },
    ],
  ])('%s costs its session, and this process no memory', async (name, error) => {
    await using server = await startHostileSqlServer(name);
    const limits = { connectMs: 1000, statementMs: 60_000, lockMs: 1000 };
    await using destination = connectFake(server, {}, { orgId: name, limits });
    const { rss } = process.memoryUsage();
    await expect(destination.open(claim)).rejects.toMatchObject(error);
    expect(process.memoryUsage().rss - rss).toBeLessThan(64 * mib);
    expect(server.sent()).toBeLessThan(96 * mib);
  });

  it('a catalog with millions of digits is refused before anything is computed with them', async () => {
    const script = laneScript((request) =>
      request.kind === 'statements' && request.sql.includes('from sys.columns')
        ? [{ name: 'a', type_name: 'decimal', bytes: 9, total_digits: 2_000_000_000, scale: 1_000_000_000 }]
        : undefined,
    );
    await using fake = await startTdsFake(script);
    await using destination = connectFake(fake);
    const wanted = claimOf('dbo', { columns: [columnOf('a', 'numeric')] });
    await expect(destination.open(wanted)).rejects.toMatchObject({
      code: 'destination_rejected',
      message: expect.stringContaining('an impossible precision'),
    });
  });
});

it('a receipt as long as one may be is written and read back, and a longer one is not written', async () => {
  let receipt = '';
  await using fake = await startTdsFake(
    laneScript((request) => {
      if (request.kind !== 'statements') return undefined;
      if (isBatch(request)) receipt = String(request.values['receipt']);
      const checkpoint = { run_id: 'run_1', batch_no: 1, receipt };
      return request.sql.includes('declare @taken') && receipt !== '' ? [checkpoint] : undefined;
    }),
  );
  await using destination = connectFake(fake);
  await destination.open(claim);
  const longest = 'é'.repeat(30_000_000);
  await destination.apply(batchOf([rowOf('1')], { receipt: () => longest }));
  const { checkpoint } = await destination.open(claim);
  expect(checkpoint?.receipt === longest).toBe(true);
  const longer = batchOf([rowOf('1')], { receipt: () => `${longest}x` });
  await expect(destination.apply(longer)).rejects.toMatchObject({
    code: 'destination_rejected',
    message: expect.stringContaining('ask for smaller pages'),
  });
});

describe('the process of a driver', () => {
  it('fails the statement in progress when it dies, and a new one goes on', async () => {
    let isHeld = true;
    const asked = Promise.withResolvers<void>();
    await using fake = await startTdsFake(
      laneScript(
        (request) => {
          if (!isBatch(request) || !isHeld) return undefined;
          asked.resolve();
          return 'silence';
        },
        () => 'org_killed',
      ),
    );
    const before = own();
    await using destination = connectFake(fake, {}, { orgId: 'org_killed' });
    await destination.open(claim);
    const applied = destination.apply(batchOf([rowOf('1')])).catch((error: unknown) => error);
    await asked.promise;
    for (const pid of own().filter((one) => !before.includes(one))) process.kill(pid, 'SIGKILL');
    expect(await applied).toMatchObject({ code: 'destination_unavailable' });
    isHeld = false;
    await destination.open(claimOf('dbo', { fence: 2 }));
    expect(await destination.apply(batchOf([rowOf('1')]))).toEqual([]);
  });

  it('serves the sessions of its org one after the other, and those of no other', async () => {
    let owner = '';
    await using fake = await startTdsFake(laneScript(undefined, () => owner));
    const serve = async (orgId: string): Promise<number> => {
      owner = orgId;
      const before = own();
      await using destination = connectFake(fake, {}, { orgId });
      await destination.open(claim);
      return own().filter((pid) => !before.includes(pid)).length;
    };
    expect(await serve('org_a')).toBe(1);
    expect(await serve('org_a')).toBe(0);
    expect(await serve('org_b')).toBe(1);
  });

  it('is not reused when it had to be ended', async () => {
    await using server = await startHostileSqlServer('rows without an end');
    const before = own();
    await using destination = connectFake(server, {}, { orgId: 'org_ended' });
    await expect(destination.open(claim)).rejects.toMatchObject({ code: 'destination_rejected' });
    await eventually('it is gone', async () => own().every((pid) => before.includes(pid)));
  });

  it.skipIf(process.platform !== 'linux')(
    'sees nothing of the environment but which certificates to trust',
    async () => {
      await using fake = await startTdsFake(laneScript());
      await using destination = connectFake(fake);
      await destination.open(claim);
      for (const pid of own()) {
        const names = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').filter(Boolean);
        const others = names.filter(
          (name) => !/^(NODE_CHANNEL_|NODE_EXTRA_CA_CERTS|NODE_USE_SYSTEM_CA|SSL_CERT_)/.test(name),
        );
        expect(others).toEqual([]);
      }
    },
  );

  it.each([
    ['socket', `require('node:net').connect(80, '127.0.0.1')`],
    ['address', `require('node:dns').lookup('localhost', (error) => { throw error; })`],
    ['process', `require('node:child_process').spawn('true')`],
    ['thread', `new (require('node:worker_threads').Worker)('1', { eval: true })`],
    ['file', `require('node:fs').readFileSync('/etc/hostname')`],
    ['code from a text', `require('node:vm').constructor.constructor('1')()`],
  ])('has no way to a %s of its own', async (_, code) => {
    const run = promisify(execFile)(process.execPath, [...driverFlags, '--eval', code], { env: {} });
    await expect(run).rejects.toMatchObject({
      stderr: expect.stringMatching(/ERR_ACCESS_DENIED|Code generation from strings disallowed/),
    });
  });

  it('that waits for a next session keeps no process from ending, and ends with it', async () => {
    await using fake = await startTdsFake(laneScript());
    const script = new URL('../support/sqlserver/script.ts', import.meta.url).href;
    const code = `
      const { connectFake } = await import(${JSON.stringify(script)});
      await using destination = connectFake({ port: ${fake.port} });
      console.log(await destination.check([]));`;
    const ending = spawn(process.execPath, ['--input-type=module', '--eval', code], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const said = text(ending.stdout ?? []);
    const [exitCode] = await once(ending, 'exit');
    expect({ exitCode, said: await said }).toMatchObject({ exitCode: 0, said: expect.stringContaining('reachable') });
    expect(driverProcesses(ending.pid ?? 0)).toEqual([]);
  });
});

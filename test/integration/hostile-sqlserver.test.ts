import { afterAll, expect, it } from 'vitest';
import type { CountedDestination } from '../support/destinations/audit.ts';
import { figure } from '../support/security/figure.ts';
import { eventually } from '../support/service/eventually.ts';
import { useStack } from '../support/service/use-stack.ts';
import { driverProcesses } from '../support/sqlserver/driver-processes.ts';
import {
  type HostileResponse,
  type HostileSqlServer,
  startHostileSqlServer,
} from '../support/sqlserver/hostile-sqlserver.ts';
import { createSync, createSyncInto } from '../support/sync/sync.ts';
import { generateRecords } from '../support/upstream/upstream.ts';

/** What the servers do, by the collections that are to be written to them. */
const attacks = {
  garbage: 'garbage in a statement',
  rows: 'rows without an end',
  memory: 'a value in chunks of a byte',
  spin: 'a size of packets that leaves no room',
} as const satisfies Readonly<Record<string, HostileResponse>>;

const records = 300;
const servers = new Map<string, HostileSqlServer>();
for (const [name, response] of Object.entries(attacks)) servers.set(name, await startHostileSqlServer(response));
afterAll(async () => {
  for (const server of servers.values()) await server[Symbol.asyncDispose]();
});

const shared = useStack(
  {
    collections: Object.fromEntries(
      [...Object.keys(attacks), 'victim'].map((name) => [name, generateRecords(records)]),
    ),
  },
  { allow: [...servers.values()].map(({ port }) => `127.0.0.1:${port}`) },
);

/** A destination of which only the address counts. */
const hostile = ({ port }: HostileSqlServer): CountedDestination => ({
  declared: {
    kind: 'sqlserver',
    host: '127.0.0.1',
    port,
    database: 'shop',
    user: 'sync',
    password: '{{ secrets.destination }}',
    encrypt: false,
  },
  secret: 'very-secret',
  count: async () => 0,
  audit: async () => undefined,
  writes: async () => ({ rows: 0, inserts: 0, updates: 0, deletes: 0 }),
  quiet: async () => undefined,
  [Symbol.asyncDispose]: async () => undefined,
});

it('hostile SQL Servers end no process, and another org is served meanwhile', async () => {
  const { stack, upstream } = shared();
  const [api, worker] = [stack.api(), stack.worker()];
  const attacker = await stack.newOrg();
  const victim = await createSync(stack, { upstream, collection: 'victim' });
  let [asked, noResponse] = [0, 0];
  const probe = setInterval(() => {
    asked += 1;
    void stack.org.call('GET', '/runs').then(
      ({ status }) => void (noResponse += Number(status !== 200)),
      () => void (noResponse += 1),
    );
  }, 100);
  const attack = async (name: string, server: HostileSqlServer) => {
    const options = { upstream, collection: name };
    const { connectionId, request, run } = await createSyncInto({ ...stack, org: attacker }, hostile(server), options);
    const runId = await request();
    const tested = await attacker.call('POST', `/connections/${connectionId}/test`);
    expect(tested, name).toMatchObject({ status: 200, body: { ok: false } });
    // Eight attacked drivers share the machine: what they send is refused, or its driver is too busy to be waited for.
    // Which of them each attack alone ends with: test/contract/sqlserver-hostile.test.ts.
    const code = expect.stringMatching(/^destination_(rejected|unavailable)$/);
    expect(tested.body.steps).toContainEqual(expect.objectContaining({ step: 'destination', ok: false, code }));
    // What may be a passing trouble is tried again: after the test, and a first attempt.
    await eventually(`the run into ${name} has failed, or is tried again`, async () => {
      const { status } = await run(runId);
      return status === 'failed' || server.connections() > 2;
    });
    await attacker.call('POST', `/runs/${runId}/cancel`);
  };
  const underAttack = Promise.all([...servers].map(([name, server]) => attack(name, server)));
  const run = await victim.ended(await victim.request());
  await underAttack;
  clearInterval(probe);
  const ended = [api, worker].filter(({ pid }) => !isAlive(pid)).length;
  figure('tdsProcesses', { count: ended, of: Object.keys(attacks).length * 2 });
  figure('tdsVictim', { count: noResponse, of: asked });
  expect(run).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: records } });
  expect({ ended, noResponse }).toEqual({ ended: 0, noResponse: 0 });
  expect([stack.api().pid, stack.worker().pid]).toEqual([api.pid, worker.pid]);
  expect((await victim.ended(await victim.request())).status).toBe('succeeded');
  await eventually('no driver is left but those that wait', async () => {
    const left = [api.pid, worker.pid].map((pid) => driverProcesses(pid).length);
    return left.every((count) => count <= 4);
  });
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

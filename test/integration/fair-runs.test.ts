import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { sql } from 'kysely';
import { afterAll, describe, expect, it } from 'vitest';
import { createLog } from '../../src/log.ts';
import { createOrchestrator } from '../../src/temporal/orchestrator.ts';
import { openAuditedDestination } from '../support/destinations/audit.ts';
import { caseFigure, figure } from '../support/security/figure.ts';
import type { TestOrg } from '../support/service/api.ts';
import { eventually } from '../support/service/eventually.ts';
import { useStack } from '../support/service/use-stack.ts';
import { generateRecords } from '../support/upstream/upstream.ts';

/** A database that takes connections and never says a word. */
const silent = createServer((socket) => void socket.on('error', () => undefined));
silent.listen(0, '127.0.0.1');
await once(silent, 'listening');
const { port } = silent.address() as AddressInfo;
afterAll(() => void silent.close());

/** Slots of a worker as it is by itself; an org may have half as many runs under way. */
const usualSlots = 20;
/** Slots of the worker, fewer than an org may have runs under way. */
const slots = 4;
const resources = Array.from({ length: 40 }, (_, index) => `r${index}`);
const shared = useStack(
  { collections: Object.fromEntries(resources.map((key) => [key, generateRecords(10)])) },
  { allow: [`127.0.0.1:${port}`], env: { WORKER_CONCURRENCY: String(slots) } },
);

describe('an org whose peers are silent', () => {
  it('does not hold up the run of another: its requests lend their slots, and get their responses in the end', async () => {
    const { stack, upstream } = shared();
    const hostile = await stack.newOrg();
    const attacker = await connect(hostile, (await openAuditedDestination()).url);
    const victim = await connect(stack.org, (await openAuditedDestination()).url);
    const held = Array.from({ length: slots }, (_, index) => upstream.hold(upstream.journal.length + index + 1));
    const attacks = await Promise.all(resources.slice(0, slots).map((key) => attacker.request(key)));
    await Promise.all(held.map(({ reached }) => reached));
    const run = await victim.ended(await victim.request('r0'));
    expect(run.status).toBe('succeeded');
    const noResponse = upstream.journal.slice(0, slots).filter(({ status }) => status === null).length;
    caseFigure('starvedRuns', noResponse < slots);
    expect(noResponse).toBe(slots);
    for (const { release } of held) release();
    for (const id of attacks) expect((await attacker.ended(id)).status).toBe('succeeded');
    // Nothing was asked for twice: a slow API is waited for as before.
    expect(upstream.journal).toHaveLength(slots + 1);
  });
});

describe('an org that floods the service with runs', () => {
  it('has no more in progress than its limit, and those of others begin at once', async () => {
    const { stack } = shared();
    const hostile = await stack.newOrg();
    await sql`update orgs set limits = '{"runsAtOnce": 3}' where id = ${hostile.orgId}`.execute(stack.db);
    for (let connection = 0; connection < 4; connection += 1) {
      const attacker = await connect(hostile, `postgres://u:p@127.0.0.1:${port}/d`);
      await Promise.all(resources.map((key) => attacker.request(key)));
    }
    await eventually('some are under way', async () => (await runningOf(hostile)) === 3);
    expect(await waitingOf(hostile)).toBeGreaterThan(150);
    const victim = await connect(stack.org, (await openAuditedDestination()).url);
    for (const run of [() => victim.request('r1'), () => victim.scheduled('r2'), () => victim.request('r3')]) {
      expect((await victim.ended(await run())).status).toBe('succeeded');
      const running = await runningOf(hostile);
      figure('slotShare', { count: Math.max(0, running - 3), of: 1 });
      caseFigure('starvedRuns', (await waitingOf(hostile)) === 0);
      expect(running).toBeLessThanOrEqual(3);
      expect(await waitingOf(hostile)).toBeGreaterThan(0);
    }
  });
});

describe('an org that queues 200 runs', () => {
  const flood = 200;
  const share = usualSlots / 2;

  it.each([
    ['that end at once', () => shared().upstream.url],
    ['whose API never responds', () => `http://127.0.0.1:${port}`],
  ])(
    '%s, lets less than a tenth of them end before the one that another asks for then',
    async (_, baseUrlOf) => {
      const { stack } = shared();
      await stack.killWorker('SIGKILL');
      const flooding = await stack.newOrg();
      for (let asked = 0; asked < flood; asked += resources.length) {
        const { url } = await openAuditedDestination();
        const { request } = await connect(flooding, url, baseUrlOf());
        await Promise.all(resources.map((key) => request(key)));
      }
      const other = await connect(await stack.newOrg(), (await openAuditedDestination()).url);
      const runId = await other.request('r0');
      expect(await countRuns(flooding, 'queued')).toBe(flood);
      await stack.startWorker({ WORKER_CONCURRENCY: String(usualSlots) });
      const { status, finishedAt } = await other.ended(runId);
      const running = await runningOf(flooding);
      const before = await countEnded(flooding, finishedAt);
      caseFigure('starvedRuns', before >= flood / 10);
      figure('slotShare', { count: Math.max(0, running - share), of: 1 });
      expect(status).toBe('succeeded');
      expect(before).toBeLessThan(flood / 10);
      expect(running).toBeLessThanOrEqual(share);
    },
    120_000,
  );
});

describe('an org with 200 resources that are due at once', () => {
  it.each([
    [
      'by schedules',
      async (flooding: readonly Connected[], other: Connected) => {
        const at = Date.now() + 20_000;
        const cron = (ms: number) => `${new Date(ms).getUTCSeconds()} * * * * *`;
        for (const { schedule } of flooding) await Promise.all(resources.map((key) => schedule(key, cron(at))));
        await other.schedule('r0', cron(at + 2000));
      },
    ],
    [
      'by requests to hooks',
      async (flooding: readonly Connected[], other: Connected) => {
        for (const { post } of flooding) await post(resources);
        await other.post(['r0']);
      },
    ],
  ])(
    '%s, lets less than a tenth of their runs end before that of another org',
    async (_, makeDue) => {
      const { stack } = shared();
      await stack.killWorker('SIGKILL');
      const [flooding, otherOrg] = [await stack.newOrg(), await stack.newOrg()];
      const connections: Connected[] = [];
      while (connections.length < 5) connections.push(await connect(flooding, (await openAuditedDestination()).url));
      const other = await connect(otherOrg, (await openAuditedDestination()).url);
      await makeDue(connections, other);
      const startedOf = async ({ orgId }: TestOrg) =>
        (await stack.temporal.client.workflow.count(`CssOrgId = '${orgId}'`)).count;
      // Of some schedules Temporal hears from the sweeper alone, which ends with the worker.
      const areStarted = async () => (await startedOf(flooding)) >= 150 && (await startedOf(otherOrg)) >= 1;
      await eventually('the workflows of both are started', areStarted, { timeoutMs: 90_000 });
      await stack.startWorker({ WORKER_CONCURRENCY: String(usualSlots) });
      const firstRun = async () => (await otherOrg.call('GET', '/runs')).body.at(-1);
      const { id } = await eventually('the other org has a run', firstRun, { timeoutMs: 60_000 });
      const { status, finishedAt } = await other.ended(id);
      const before = await countEnded(flooding, finishedAt);
      caseFigure('starvedRuns', before >= 20);
      expect(status).toBe('succeeded');
      expect(before).toBeLessThan(20);
    },
    200_000,
  );
});

/** How many runs of an org had ended at that time. */
async function countEnded({ orgId }: TestOrg, at: string): Promise<number> {
  const { rows } = await sql<{ readonly count: number }>`
    select count(*)::int as count from runs where org_id = ${orgId} and finished_at <= ${at}`.execute(
    shared().stack.db,
  );
  return rows[0]?.count ?? 0;
}

const runningOf = (org: TestOrg) => countRuns(org, 'running');
const waitingOf = (org: TestOrg) => countRuns(org, 'queued');

async function countRuns({ orgId }: TestOrg, status: string): Promise<number> {
  const { rows } = await sql<{ readonly count: number }>`
    select count(*)::int as count from runs where org_id = ${orgId} and status = ${status}`.execute(shared().stack.db);
  return rows[0]?.count ?? 0;
}

interface Connected {
  /** Asks for a run; its id. */
  request(resource: string): Promise<string>;
  /** Makes a schedule. */
  schedule(resource: string, cron: string): Promise<void>;
  /** Posts to a hook of its own; resolves when Temporal knows of each resource. */
  post(resourceKeys: readonly string[]): Promise<void>;
  /** A run that a schedule begins within a second; its id. */
  scheduled(resource: string): Promise<string>;
  ended(runId: string): Promise<{ readonly status: string; readonly finishedAt: string }>;
}

/** A connection of an org; of one org all read from the same API, which is the fake one unless given. */
async function connect(
  { call, orgId, workspaceId }: TestOrg,
  databaseUrl: string,
  baseUrl = shared().upstream.url,
): Promise<Connected> {
  const ask = async (path: string, body?: unknown) => {
    const response = await call('POST', path, { body });
    expect(response.status, JSON.stringify(response.body)).toBeLessThan(400);
    return response.body;
  };
  await call('POST', '/specs', { body: specDocument(baseUrl) });
  await call('POST', '/specs/fair/versions/1.0.0/publish');
  const { id } = await ask('/connections', {
    workspaceId,
    specKey: 'fair',
    specVersion: '1.0.0',
    displayName: 'Fair',
    params: {},
    secrets: { databaseUrl },
  });
  await ask(`/connections/${id}/activate`);
  const schedule = async (resourceKey: string, cron: string): Promise<void> => {
    await ask(`/connections/${id}/schedules`, { resourceKey, cron });
  };
  return {
    schedule,
    async post(resourceKeys) {
      const { apiUrl, temporal } = shared().stack;
      const { url } = await ask(`/connections/${id}/hooks`, { resourceKeys, verification: { kind: 'none' } });
      const { status } = await fetch(`${apiUrl}${new URL(url).pathname}`, { method: 'POST', body: '{}' });
      expect(status).toBe(202);
      // Not all at once: then some calls are left to the sweeper, which ends with the worker.
      const { noteInbound } = createOrchestrator(temporal.client, createLog({ level: 'silent', name: 'test' }));
      for (const resourceKey of resourceKeys) await noteInbound({ orgId, connectionId: id, resourceKey });
    },
    async scheduled(resourceKey) {
      await schedule(resourceKey, '* * * * * *');
      return eventually('the schedule fires', async () => {
        const { body } = await call('GET', `/runs?connectionId=${id}&trigger=schedule`);
        return body[0]?.id;
      });
    },
    request: async (resource) => (await ask(`/connections/${id}/sync`, { resource })).id,
    ended: (runId) =>
      eventually(
        `run ${runId} ends`,
        async () => {
          const { body } = await call('GET', `/runs/${runId}`);
          return body.finishedAt !== null && body;
        },
        { timeoutMs: 60_000 },
      ),
  };
}

const specDocument = (baseUrl: string) => ({
  metadata: { key: 'fair', name: 'Fair', version: '1.0.0' },
  connectionParams: [{ key: 'databaseUrl', type: 'string', secret: true }],
  http: { baseUrl, timeoutMs: 120_000, rateLimit: { requests: 1000, perSeconds: 1, maxConcurrent: 100 } },
  resources: resources.map((key) => ({
    key,
    primaryKey: 'id',
    request: { path: `/cursor/${key}` },
    response: { records: 'data' },
    target: { table: key },
  })),
  destination: { kind: 'postgres', url: '{{ secrets.databaseUrl }}', ssl: 'disable' },
});

import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { sql } from 'kysely';
import { afterAll, describe, expect, it } from 'vitest';
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
  }, 120_000);
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
  }, 120_000);
});

describe('an org that queues 200 runs', () => {
  const flood = 200;
  /** A worker as it is by itself; an org may have half as many runs under way. */
  const [usualSlots, share] = [20, 10];

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
  /** A run that a schedule begins within a second; its id. */
  scheduled(resource: string): Promise<string>;
  ended(runId: string): Promise<{ readonly status: string; readonly finishedAt: string }>;
}

/** A connection of an org; of one org all read from the same API, which is the fake one unless given. */
async function connect(
  { call, workspaceId }: TestOrg,
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
  return {
    async scheduled(resourceKey) {
      await ask(`/connections/${id}/schedules`, { resourceKey, cron: '* * * * * *' });
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

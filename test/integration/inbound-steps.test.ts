import { createHash, createHmac, randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createInboundHookActivities } from '../../activities/inbound-hooks.ts';
import { findUnwokenResources, purgeHookRequests } from '../../db/queries/hooks/hook-requests.ts';
import { findHooksByToken } from '../../db/queries/hooks/hooks.ts';
import { setOrgLimits } from '../../db/queries/orgs/org-limits.ts';
import { endRun } from '../../db/queries/runs/lanes/end-run.ts';
import { orgScope } from '../../db/scope.ts';
import { takeRequest } from '../../src/control/hooks/inbound.ts';
import { hashHookToken } from '../../src/core/crypto/hook-token.ts';
import { createSecretBox, type RingKey } from '../../src/core/crypto/secret-box.ts';
import { wakeOverdue } from '../../src/maintenance/inbound-sweep.ts';
import type { InboundHookInput } from '../../workflows/contract.ts';
import { caseFigure } from '../support/security/figure.ts';
import { startApi, type TestApi, type TestOrg } from '../support/service/api.ts';
import { createActiveConnection, publishSpec } from '../support/upstream/api-fixtures.ts';
import { signers } from '../support/webhooks/hook-signers.ts';
import { createHook, sendTo } from '../support/webhooks/hooks.ts';

let api: TestApi;
let org: TestOrg;
beforeAll(async () => {
  api = await startApi();
  org = await api.newOrg();
  await publishSpec(org);
});
afterAll(() => api[Symbol.asyncDispose]());

/** An active connection with a hook; no workflow takes what comes in, the test is it. */
async function openHook(rest: object = {}) {
  const connectionId = await createActiveConnection(org);
  const hook = await createHook(sendTo(api), org, connectionId, { debounceSeconds: 0, ...rest });
  const { enqueueInboundRun } = createInboundHookActivities(api.deps);
  const asked = { connectionId, resourceKey: 'items' };
  return {
    ...asked,
    hook,
    step: () => enqueueInboundRun({ orgId: org.orgId, ...asked }),
    runs: async () => (await org.call('GET', `/runs?connectionId=${connectionId}`)).body,
    unwoken: (requestId: string) => findUnwokenResources(api.deps.db, orgScope(org.orgId), { requestId, connectionId }),
  };
}

const statusesOf = async ({ requests }: Awaited<ReturnType<typeof openHook>>['hook']) =>
  (await requests()).map(({ status, reason, runs }) => [status, reason, runs[0]?.runId]);

describe('the run of requests', () => {
  it('is made once, although Temporal is away; a repeat finds nobody waiting', async () => {
    const { hook, step, runs } = await openHook();
    await hook.post('1');
    await hook.post('2');
    const made = await step();
    expect(made).toMatchObject({ waitMs: 0, outcome: 'started' });
    expect(await step()).toEqual({ waitMs: null, outcome: 'no request is waiting', runId: null });
    expect(await runs()).toMatchObject([
      { id: made.runId, trigger: 'webhook', status: 'queued', resourceKey: 'items' },
    ]);
    expect(await statusesOf(hook)).toEqual([
      ['coalesced', null, made.runId],
      ['accepted', null, made.runId],
    ]);
  });

  it('is one that waits already, also of a person, but no backfill: that one reads what is old', async () => {
    const { hook, step, connectionId } = await openHook({ debounceSeconds: 300, maxWaitSeconds: 300 });
    await org.call('POST', `/connections/${connectionId}/backfill`, { body: { resource: 'items' } });
    await hook.post('1');
    expect((await step()).outcome).toBe('gathering');
    const { body: manual } = await org.call('POST', `/connections/${connectionId}/sync`, {
      body: { resource: 'items' },
    });
    expect(await step()).toEqual({ waitMs: 0, outcome: 'joined', runId: manual.id });
    expect(await statusesOf(hook)).toEqual([['coalesced', null, manual.id]]);
  });

  it('waits until no request has come for a while, yet no longer than the first may wait', async () => {
    const quiet = await openHook({ debounceSeconds: 100, maxWaitSeconds: 200 });
    await quiet.hook.post('1');
    const { waitMs } = await quiet.step();
    expect(waitMs).toBeGreaterThan(60_000);
    expect(waitMs).toBeLessThanOrEqual(100_000);
    await receivedAgo(quiet.hook.id, 150);
    await quiet.hook.post('2');
    const { waitMs: rest } = await quiet.step();
    expect(rest).toBeGreaterThan(10_000);
    expect(rest).toBeLessThanOrEqual(50_000);
    await receivedAgo(quiet.hook.id, 200);
    expect((await quiet.step()).outcome).toBe('started');
  });
});

describe('what a request announced', () => {
  it('is read by another run after one that failed, later each time', async () => {
    const { hook, step, runs } = await openHook();
    await hook.post('1');
    for (const minutes of [1, 5]) {
      const { runId } = await step();
      await endRun(api.deps.db, orgScope(org.orgId), { runId: runId ?? '', outcome: failed, breaksConnection: false });
      const { waitMs } = await step();
      expect(Math.abs((waitMs ?? 0) - minutes * 60_000)).toBeLessThan(5000);
      await waitedFor(hook.id);
    }
    expect((await step()).outcome).toBe('started');
    expect(await runs()).toMatchObject([{ status: 'queued' }, { status: 'failed' }, { status: 'failed' }]);
  });

  it.each([
    ['is read by another run after one that its limits ended', 'partial', false],
    ['is not read again after one that left something out', 'partial', true],
    ['is not read again after one that failed behind its last page', 'failed', true],
  ] as const)('%s', async (_what, status, readCompleted) => {
    const { hook, step } = await openHook();
    await hook.post('1');
    const { runId } = await step();
    const { db } = api.deps;
    await db.updateTable('runs').set({ readCompleted }).where('id', '=', runId).execute();
    const outcome = status === 'failed' ? failed : ({ status, error: null } as const);
    await endRun(db, orgScope(org.orgId), { runId: runId ?? '', outcome, breaksConnection: false });
    await waitedFor(hook.id);
    expect((await step()).outcome).toBe(readCompleted ? 'no request is waiting' : 'started');
  });

  it('is announced again in the same words once its run has begun, and not before', async () => {
    const { hook, step, runs } = await openHook();
    const isDuplicate = async () => (await (await hook.post('changed')).text()).includes('duplicate');
    expect([await isDuplicate(), await isDuplicate()]).toEqual([false, true]);
    const { runId } = await step();
    await endRun(api.deps.db, orgScope(org.orgId), { runId: runId ?? '', outcome: read, breaksConnection: false });
    expect(await isDuplicate()).toBe(false);
    expect((await step()).outcome).toBe('started');
    expect(await runs()).toHaveLength(2);
  });

  it('while the connection was paused is read once it is active', async () => {
    const { hook, step, connectionId } = await openHook();
    await org.call('POST', `/connections/${connectionId}/pause`);
    await hook.post('1');
    expect((await step()).outcome).toBe('no request is waiting');
    await org.call('POST', `/connections/${connectionId}/activate`);
    expect((await step()).outcome).toBe('started');
  });
});

describe('a captured request that is sent again', () => {
  const content = '{"zen":"Keep it logically awesome."}';
  const captured = ({ secret }: { secret: string }, id: string) => ({
    ...signers.github(content, secret),
    'x-github-delivery': id,
  });
  const openSigned = () => openHook({ verification: { kind: 'github' } });
  const end = async (runId: string | null) =>
    endRun(api.deps.db, orgScope(org.orgId), { runId: runId ?? '', outcome: read, breaksConnection: false });

  it('under new ids starts a run a minute at most, and none of them is lost', async () => {
    const { hook, step, runs } = await openSigned();
    const post = async (id: string) => (await hook.post(content, captured(hook, id))).json();
    for (const id of ['a', 'b']) {
      expect(await post(id)).toEqual({ accepted: true });
      const { outcome, runId } = await step();
      expect(outcome).toBe('started');
      await end(runId);
    }
    for (let n = 0; n < 10; n += 1) expect(await post(`c${n}`)).toEqual({ accepted: true });
    const { waitMs, outcome } = await step();
    expect(outcome).toBe('gathering');
    expect(waitMs).toBeGreaterThan(30_000);
    expect(waitMs).toBeLessThanOrEqual(60_000);
    expect((await hook.requests())[0]).toMatchObject({
      status: 'accepted',
      reason: 'its signed content came before: its run comes within a minute',
    });
    await waitedFor(hook.id);
    const last = await step();
    expect(last.outcome).toBe('started');
    const made = await runs();
    caseFigure('capturedRequests', made.length !== 3);
    expect(made).toHaveLength(3);
    expect((await hook.requests()).slice(0, 10).map((request) => request.runs[0]?.runId)).toEqual(
      Array.from({ length: 10 }, () => last.runId),
    );
  });

  it('keeps one that says something new from nothing', async () => {
    const { hook, step, unwoken } = await openSigned();
    for (const id of ['a', 'b', 'c']) {
      await hook.post(content, captured(hook, id));
      await end((await step()).runId);
    }
    expect((await step()).outcome).toBe('gathering');
    const other = '{"zen":"Approachable is better than simple."}';
    await hook.post(other, { ...signers.github(other, hook.secret), 'x-github-delivery': 'd' });
    const [newest] = await hook.requests();
    expect(await unwoken(newest?.id ?? '')).toEqual(['items']);
    expect((await step()).outcome).toBe('started');
  });

  it('under the id of a notification that is yet to come takes nothing from it', async () => {
    const { hook, step } = await openSigned();
    await hook.post(content, captured(hook, 'a'));
    await hook.post(content, captured(hook, 'next'));
    await end((await step()).runId);
    const other = '{"zen":"Design for failure."}';
    const told = await hook.post(other, { ...signers.github(other, hook.secret), 'x-github-delivery': 'next' });
    expect(await told.json()).toEqual({ accepted: true });
    const { outcome } = await step();
    caseFigure('capturedRequests', outcome !== 'started');
    expect(outcome).toBe('started');
  });

  it('under its own id is the same notification, for 7 days', async () => {
    const { hook, step } = await openSigned();
    await hook.post(content, captured(hook, 'a'));
    await end((await step()).runId);
    const again = await hook.post(content, captured(hook, 'a'));
    const response = await again.json();
    caseFigure('capturedRequests', !JSON.stringify(response).includes('duplicate'));
    expect(response).toMatchObject({ accepted: true, duplicate: true });
  });

  it('of an hour ago with another time starts a run a minute at most, too', async () => {
    const { hook, step } = await openHook({ verification: { kind: 'hmac', header: 'x-s' } });
    const signature = createHmac('sha256', hook.secret).update(content).digest('hex');
    for (const time of ['1', '2', '3']) {
      await hook.post(content, { 'x-s': signature, 'x-time': time });
      await end((await step()).runId);
    }
    const { outcome } = await step();
    caseFigure('capturedRequests', outcome === 'started');
    expect(outcome).toBe('gathering');
  });
});

describe('what requests are compared by', () => {
  it('is known after the ring has got a new key, and is no hash that others can compute', async () => {
    const { hook, step } = await openHook({ dedupe: { by: 'header', name: 'x-event' } });
    const [old, current] = ['k1', 'k2'].map((id) => ({ id, key: randomBytes(32) }));
    if (!old || !current) throw new Error('There are two keys.');
    const [row] = await findHooksByToken(api.deps.db, [hashHookToken(hook.url.split('/').at(-1) ?? '')]);
    if (!row) throw new Error('There is a hook.');
    const take = (ring: readonly RingKey[], id: string) =>
      takeRequest({ ...api.deps, secretBox: createSecretBox(ring) }, row, {
        header: (name) => (name === 'x-event' ? id : null),
        body: Buffer.from('body'),
        receivedAt: new Date(),
      });
    expect(await take([old], 'secret-id')).toBeNull();
    await step();
    expect(await take([current, old], 'secret-id')).toMatch(/^its id in x-event is the same/);
    expect(await take([current, old], 'other-id')).toBeNull();
    const { rows } = await sql<{ key: string }>`
      select encode(dedupe_key, 'hex') as key from hook_requests where hook_id = ${hook.id}`.execute(api.deps.db);
    const guesses = ['id:secret-id', 'id:secret-id\0', 'secret-id'].map((text) =>
      createHash('sha256').update(text).digest('hex'),
    );
    expect(rows.filter(({ key }) => guesses.includes(key))).toEqual([]);
  });
});

const failed = { status: 'failed', error: { code: 'source_rejected', message: 'of a test' } } as const;
const read = { status: 'succeeded', error: null } as const;

/** Lets every wait of the hook be over. */
async function waitedFor(hookId: string): Promise<void> {
  await sql`
    update hook_triggers set not_before = now() where not_before is not null
      and request_id in (select id from hook_requests where hook_id = ${hookId})`.execute(api.deps.db);
}

/** Lets all requests have come so many seconds ago. */
async function receivedAgo(hookId: string, seconds: number): Promise<void> {
  const receivedAt = sql<string>`now() - make_interval(secs => ${seconds})`;
  await api.deps.db.updateTable('hookRequests').set({ receivedAt }).where('hookId', '=', hookId).execute();
}

describe('requests for which no run may be created are ignored, and the log says why:', () => {
  it('the connection is paused', async () => {
    const { hook, step, connectionId, runs } = await openHook();
    await hook.post('1');
    await org.call('POST', `/connections/${connectionId}/pause`);
    expect((await step()).outcome).toBe('ignored: connection paused');
    expect(await statusesOf(hook)).toEqual([['ignored', 'connection paused', null]]);
    expect(await runs()).toEqual([]);
    await org.call('POST', `/connections/${connectionId}/activate`);
    expect((await step()).outcome).toBe('started');
    expect(await (await hook.post('1')).json()).toEqual({ accepted: true });
  });

  it('the effective spec is invalid', async () => {
    const { hook, step, connectionId } = await openHook();
    await hook.post('1');
    const overrides = { specOverridesJson: '{"metadata":{}}' };
    await api.deps.db.updateTable('connections').set(overrides).where('id', '=', connectionId).execute();
    expect((await step()).outcome).toMatch(/^ignored: The effective spec is invalid/);
  });
});

describe('a workflow', () => {
  it('is woken by the first request that waits, and by the first after a run was created', async () => {
    const { hook, step, unwoken } = await openHook();
    await hook.post('1');
    await hook.post('2');
    const [second, first] = await hook.requests();
    expect([await unwoken(first?.id ?? ''), await unwoken(second?.id ?? '')]).toEqual([['items'], []]);
    await step();
    await hook.post('3');
    const [third] = await hook.requests();
    expect(await unwoken(third?.id ?? '')).toEqual(['items']);
  });

  it('that nobody could wake is woken by the sweeper, once its run is overdue', async () => {
    const { hook, connectionId, step } = await openHook();
    const woken: InboundHookInput[] = [];
    const noteInbound = async (input: InboundHookInput) => void woken.push(input);
    const sweep = () => wakeOverdue({ ...api.deps, orchestrator: { ...api.deps.orchestrator, noteInbound } });
    const ofThis = () => woken.filter((input) => input.connectionId === connectionId);
    await hook.post('1');
    await receivedAgo(hook.id, 3);
    await hook.post('2');
    await sweep();
    expect(ofThis()).toEqual([]);
    await receivedAgo(hook.id, 3);
    await sweep();
    expect(ofThis()).toEqual([{ orgId: org.orgId, connectionId, resourceKey: 'items' }]);
    await step();
    await sweep();
    expect(ofThis()).toHaveLength(1);
  });
});

describe('accepted requests beyond those that the org may store in an hour', () => {
  const scope = () => orgScope(org.orgId);
  const setLimit = (hookRequests: number | null) => setOrgLimits(api.deps.db, scope(), { hookRequests });
  beforeAll(() => setLimit(0));
  afterAll(() => setLimit(null));
  /** Sends requests at once, all different; the number that the log has then. */
  async function postMany({ hook }: Awaited<ReturnType<typeof openHook>>, count = 20): Promise<number> {
    const replies = await Promise.all(Array.from({ length: count }, () => hook.post(randomBytes(8).toString('hex'))));
    for (const reply of replies) expect([reply.status, await reply.json()]).toEqual([202, { accepted: true }]);
    return (await hook.requests()).length;
  }

  it('are stored only where no run follows them anyway, and a run follows each of them', async () => {
    const opened = await openHook();
    await postMany(opened, 1);
    await postMany(opened, 1);
    // The first and the last wait: the last one stands for all that come now, and for those after it.
    expect(await postMany(opened)).toBe(2);
    const { runId } = await opened.step();
    // The run is queued.
    expect(await postMany(opened)).toBe(2);
    expect((await opened.step()).outcome).toBe('no request is waiting');
    await endRun(api.deps.db, scope(), { runId: runId ?? '', outcome: read, breaksConnection: false });
    await postMany(opened, 1);
    expect(await opened.hook.requests()).toHaveLength(3);
    expect((await opened.step()).outcome).toBe('started');
    expect(await opened.runs()).toHaveLength(2);
  });

  it('put the run off as the others do, yet no longer than the first may wait', async () => {
    const opened = await openHook({ debounceSeconds: 100, maxWaitSeconds: 200 });
    await postMany(opened, 1);
    await receivedAgo(opened.hook.id, 90);
    await postMany(opened, 1);
    await receivedAgo(opened.hook.id, 90);
    expect((await opened.step()).waitMs).toBeLessThanOrEqual(10_000);
    expect(await postMany(opened, 1)).toBe(2);
    expect((await opened.step()).waitMs).toBeGreaterThan(60_000);
    const [, first] = await opened.hook.requests();
    const receivedAt = sql<string>`now() - interval '190 seconds'`;
    await api.deps.db
      .updateTable('hookRequests')
      .set({ receivedAt })
      .where('id', '=', first?.id ?? '')
      .execute();
    expect((await opened.step()).waitMs).toBeLessThanOrEqual(10_000);
  });

  it('are stored while somebody makes the run, or lets it begin, that others wait for', async () => {
    const opened = await openHook();
    await postMany(opened, 1);
    await postMany(opened, 1);
    const { db } = api.deps;
    await db.transaction().execute(async (tx) => {
      await tx
        .updateTable('hookTriggers')
        .set({ pending: false })
        .where('connectionId', '=', opened.connectionId)
        .execute();
      expect(await postMany(opened, 1)).toBe(3);
    });
    const { runId } = await opened.step();
    expect(await postMany(opened)).toBe(3);
    await db.transaction().execute(async (tx) => {
      await tx.updateTable('runs').set({ status: 'running' }).where('id', '=', runId).execute();
      expect(await postMany(opened, 1)).toBe(4);
    });
  });

  it('that sign what came before are one for each minute', async () => {
    const secret = 'of-the-upstream';
    const { hook } = await openHook({ verification: { kind: 'github', secret } });
    const post = (id: string) =>
      hook.post('{"id":1}', { ...signers.github('{"id":1}', secret), 'x-github-delivery': id });
    for (let n = 0; n < 10; n += 1) expect((await post(String(n))).status).toBe(202);
    expect((await hook.requests()).length).toBeLessThanOrEqual(3);
  });
});

describe('the log of requests', () => {
  it('forgets after 7 days, and the same notification counts again', async () => {
    const { hook, step } = await openHook({ dedupe: { by: 'header', name: 'x-event' } });
    const post = () => hook.post('1', { 'x-event': '1' });
    await post();
    await step();
    await receivedAgo(hook.id, 7 * 86_400 - 60);
    await purgeHookRequests(api.deps.db);
    expect(await (await post()).json()).toMatchObject({ accepted: true, duplicate: true });
    await receivedAgo(hook.id, 7 * 86_400 + 60);
    expect(await hook.requests()).toEqual([]);
    await purgeHookRequests(api.deps.db);
    expect(await (await post()).json()).toEqual({ accepted: true });
    expect(await hook.requests()).toHaveLength(1);
  });
});

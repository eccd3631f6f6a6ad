/**
 * Sends the waiting events of one endpoint until none is left: claim, post, record, which overlap. Each claim fills all
 * places that became free during the previous one: a fast receiver gets large batches, and nothing waits for a slow one.
 * After a crash, each claim is a row whose lease expires, and is sent again.
 */

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { takeToken } from '../db/queries/connections/buckets.ts';
import * as queue from '../db/queries/webhooks/queue.ts';
import { type OrgScope, orgScope } from '../db/scope.ts';
import { openSigningSecrets } from '../src/connect/endpoint-secrets.ts';
import { signingKeyOf } from '../src/core/crypto/signing-key-pair.ts';
import { attemptHeaders, maskedHeaders, type SigningKeys } from '../src/core/deliveries/attempt-headers.ts';
import { classifyAttempt } from '../src/core/deliveries/classify-attempt.ts';
import { retryDelayMs } from '../src/core/deliveries/retry-delay.ts';
import { shownOutcome, signingRedactor } from '../src/core/deliveries/shown-outcome.ts';
import type { Redactor } from '../src/core/http/redact.ts';
import type { WebhookSender } from '../src/core/http/webhook-post.ts';
import type { OrgSlots } from '../src/core/work/org-slots.ts';
import type { Deps } from '../src/deps.ts';
import { wakeEndpoints } from '../src/dispatch/wake-endpoints.ts';
import type { DrainResult, WebhookEndpointInput } from '../workflows/contract.ts';
import { type AttemptRecorder, createAttemptRecorder } from './attempt-recorder.ts';
import { createTaskGroup } from './task-group.ts';

export interface DrainDeps extends Pick<Deps, 'db' | 'secretBox' | 'orchestrator' | 'log' | 'config'> {
  readonly send: WebhookSender;
  readonly slots: OrgSlots;
}

/** Milliseconds after which a drain ends, so that its workflow shows progress. */
const drainMsMax = 30_000;
/** Milliseconds of a lease beyond the request timeout: it outlives everything that records the attempt. */
const leaseMarginMs = 15_000;
const lookMs = 250;
/** Milliseconds that a claim waits for more places to become free when most are taken. */
const batchDelayMs = 5;
/** Milliseconds for which a drain that has sent something checks for more, and between two checks: events come in groups. */
const lingerMs = 300;
const lingerLookMs = 50;

/** Sends until nothing waits, `stopping` aborts or 30 s are over, and records requests in progress. */
export async function drain(
  deps: DrainDeps,
  { orgId, endpointId }: WebhookEndpointInput,
  stopping: AbortSignal,
): Promise<DrainResult> {
  const scope = orgScope(orgId);
  await queue.reclaimExpired(deps.db, scope, endpointId);
  const opened = openDrain(deps, scope, endpointId);
  try {
    await sendAll(opened, stopping);
  } finally {
    try {
      await opened.taskGroup.all();
    } finally {
      await opened.recorder.flush();
    }
  }
  const endpoint = await queue.readOpenEndpoint(deps.db, scope, endpointId);
  const { sent, failed } = opened.count;
  return { state: endpoint?.state ?? 'deleted', nextDueMs: nextDueMs(endpoint, sent), sent, failed };
}

type OpenDrain = ReturnType<typeof openDrain>;

function openDrain(deps: DrainDeps, scope: OrgScope, endpointId: string) {
  const schedule = deps.config.webhookRetryScheduleSeconds;
  const leaseToken = randomUUID();
  const recorder: AttemptRecorder = createAttemptRecorder({
    db: deps.db,
    scope,
    endpointId,
    leaseToken,
    retryWindowMs: schedule.reduce((sum, seconds) => sum + seconds, 0) * 1000,
    onEvents: () => void wakeEndpoints(deps, scope),
  });
  return {
    deps,
    scope,
    endpointId,
    schedule,
    leaseToken,
    recorder,
    taskGroup: createTaskGroup(),
    count: { sent: 0, failed: 0 },
  };
}

async function sendAll(opened: OpenDrain, stopping: AbortSignal): Promise<void> {
  const { deps, scope, endpointId, recorder, taskGroup, count } = opened;
  const endMs = performance.now() + drainMsMax;
  let restingSince: number | null = null;
  let careful = true;
  while (!stopping.aborted && performance.now() < endMs) {
    // The next step depends on how the last attempt ended, so its result is recorded first.
    if (careful || recorder.holdsFailure()) await recorder.flush();
    const endpoint = await queue.readOpenEndpoint(deps.db, scope, endpointId);
    if (!endpoint || endpoint.state === 'deleted') return;
    if (recorder.holdsFailure()) continue;
    careful = endpoint.window < endpoint.maxInFlight || endpoint.window === 1;
    const { claimed, waitMs } = await claimNext(opened, endpoint);
    if (claimed > 0) {
      restingSince = null;
      if (taskGroup.size() <= endpoint.window / 2) continue;
      await taskGroup.next(lookMs);
      if (taskGroup.size() > endpoint.window / 2) await sleep(batchDelayMs);
    } else if (taskGroup.size() > 0 || waitMs !== null) {
      await taskGroup.next(waitMs ?? lookMs);
    } else {
      restingSince ??= performance.now();
      if (count.sent === 0 || performance.now() - restingSince > lingerMs) return;
      await sleep(lingerLookMs);
    }
  }
}

interface ClaimedNow {
  readonly claimed: number;
  readonly waitMs: number | null;
}

async function claimNext(opened: OpenDrain, endpoint: queue.OpenEndpoint): Promise<ClaimedNow> {
  const { deps, scope, endpointId, taskGroup } = opened;
  const room = {
    requested: endpoint.requested ? endpoint.maxInFlight - taskGroup.size() : 0,
    due: (endpoint.dueInMs ?? 1) <= 0 ? endpoint.window - taskGroup.size() : 0,
  };
  const most = Math.max(room.requested, room.due);
  if (most <= 0) return { claimed: 0, waitMs: null };
  const waitMs = await waitOfRate(opened, endpoint);
  if (waitMs > 0) return { claimed: 0, waitMs };
  const slots = await deps.slots.take(scope.orgId, endpoint.rateLimitPerSecond === null ? most : 1);
  let attempts: queue.ClaimedAttempt[] = [];
  try {
    const { secretId, v1, v1a } = await openSigningSecrets(deps, deps.db, scope, endpointId);
    const keys = { v1, v1a: v1a.map(signingKeyOf) };
    attempts = await claim(opened, endpoint, {
      requested: Math.min(room.requested, slots),
      due: Math.min(room.due, slots),
    });
    const redactor = signingRedactor([...v1, ...v1a]);
    for (const attempt of attempts) taskGroup.add(makeAttempt(opened, { endpoint, attempt, secretId, keys, redactor }));
  } finally {
    deps.slots.give(scope.orgId, slots - attempts.length);
  }
  return { claimed: attempts.length, waitMs: null };
}

/** Milliseconds, or 0 when the token of the endpoint's rate is taken. */
async function waitOfRate(
  { deps, scope, endpointId }: OpenDrain,
  { rateLimitPerSecond: requests }: queue.OpenEndpoint,
): Promise<number> {
  if (requests === null) return 0;
  const rate = { connectionId: null, name: `webhook:${endpointId}`, requests, perSeconds: 1, burst: 1 };
  return await takeToken(deps.db, scope, { rate, waitMsMax: 0 });
}

async function claim(
  { deps: { db }, scope, endpointId, leaseToken }: OpenDrain,
  { timeoutMs, probing, ordering }: queue.OpenEndpoint,
  room: { readonly requested: number; readonly due: number },
): Promise<queue.ClaimedAttempt[]> {
  const lease = { endpointId, leaseToken, leaseMs: timeoutMs + leaseMarginMs };
  const requested =
    room.requested > 0 ? await queue.claimRequested(db, scope, { ...lease, limit: room.requested }) : [];
  const limit = room.due - requested.length;
  if (limit <= 0) return requested;
  const own = { ...lease, limit };
  const due =
    probing || ordering === 'fifo'
      ? await queue.claimOldest(db, scope, { claim: own, probing })
      : await queue.claimDue(db, scope, own);
  return [...requested, ...due];
}

interface Sending {
  readonly endpoint: queue.OpenEndpoint;
  readonly attempt: queue.ClaimedAttempt;
  readonly secretId: string;
  readonly keys: SigningKeys;
  readonly redactor: Redactor;
}

async function makeAttempt(opened: OpenDrain, { endpoint, attempt, secretId, keys, redactor }: Sending): Promise<void> {
  const { deps, scope, endpointId, schedule, recorder, count } = opened;
  try {
    const headers = attemptHeaders(attempt, keys, new Date());
    const outcome = await deps.send(endpointId, {
      url: new URL(endpoint.url),
      headers,
      body: attempt.payload,
      timeoutMs: endpoint.timeoutMs,
    });
    const verdict = classifyAttempt(outcome, Date.now());
    const { message } = attempt;
    count.sent += 1;
    if (!verdict.delivered) count.failed += 1;
    recorder.add({
      attempt,
      probe: endpoint.probing,
      secretId,
      requestHeaders: maskedHeaders(headers),
      outcome: shownOutcome(outcome, redactor),
      verdict,
      retryInMs: message?.counts ? retryDelayMs(message.attempts, schedule, Math.random) : null,
    });
  } finally {
    deps.slots.give(scope.orgId, 1);
  }
}

/** `null` when nothing waits; never 0 after a drain that sent nothing. */
function nextDueMs(endpoint: queue.OpenEndpoint | undefined, sent: number): number | null {
  if (!endpoint) return null;
  const { state, requested, dueInMs, leaseEndsInMs } = endpoint;
  const times = [requested && state !== 'deleted' ? 0 : null, dueInMs, leaseEndsInMs].filter((ms) => ms !== null);
  return times.length === 0 ? null : Math.ceil(Math.max(sent === 0 ? lookMs : 0, Math.min(...times)));
}

/**
 * Records posted to a customer's URL. A receiver keeps no checkpoint, so ours does: what is posted is committed to the
 * outbox before it leaves, byte for byte, and what was answered before the next leaves. What is in flight when a worker
 * dies is posted again under the same id; nothing else ever is. A receiver that drops the ids it knows sees each record
 * once.
 */
import { setTimeout as sleepFor } from 'node:timers/promises';
import { AppError } from '../errors.ts';
import { durableWaitMs, ThrottledError } from '../http/client.ts';
import type { Destination, RejectedRow, WriteMode } from './destination.ts';
import type { Failing, Outbox, OutboxPart, PendingBatch } from './outbox.ts';
import type { Refusal, WebhookVerdict } from './webhook-answer.ts';
import { createWebhookClient, type WebhookClient, type WebhookClientDeps } from './webhook-client.ts';
import { parseWebhookOptions } from './webhook-options.ts';
import { againOf, halvesOf, recordsOf, type SentResource, splitBatch } from './webhook-parts.ts';

/** What a webhook destination is given from outside. */
export interface WebhookDeps extends WebhookClientDeps {
  readonly outbox: Outbox;
  readonly resource: SentResource;
}

/** How time passes. */
interface Clock {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  /** From 0 up to but not including 1. */
  readonly random: () => number;
}

const realClock: Clock = { now: Date.now, sleep: (ms) => sleepFor(ms), random: Math.random };

/** How long a receiver may fail without a break within one run, ms. */
const failingMsMax = 6 * 3_600_000;
/** Longest wait between two attempts at a failing receiver, ms. */
const backoffMsMax = 300_000;

/**
 * A customer's HTTP endpoint; nothing connects before a batch is sent. Beside what every destination throws, `open` and
 * `apply` throw {@link ThrottledError} when the receiver needs a longer pause: whoever opens the lane after it goes on
 * with the same bytes.
 *
 * Throws `destination_rejected` at once when the options cannot work.
 */
export function openWebhook(
  given: Readonly<Record<string, unknown>>,
  deps: WebhookDeps,
  clock: Clock = realClock,
): Destination {
  const options = parseWebhookOptions(given);
  const { outbox, resource } = deps;
  const client = createWebhookClient(options, deps, clock.now);
  const post = createPatientPost(client, outbox, clock);
  let held: HeldLane | null = null;

  return {
    // Anything that is posted might count as delivered: only the address can be judged.
    async check() {
      await deps.guard.vetUrl(options.url);
      return 'The address of the receiver is allowed; nothing was sent to it.';
    },
    async open({ connectionId, target }) {
      if (target.mode === 'replace') throw cannotReplace();
      const { pending, checkpoint: settled, bytesMax } = await outbox.open(options.url.href);
      const lane = { connectionId, mode: target.mode, bytesMax };
      const checkpoint = pending ? (await sendAll(pending, { lane, post, outbox })).checkpoint : settled;
      held = lane;
      return checkpoint ? { fresh: false, checkpoint } : { fresh: true, checkpoint: null };
    },
    async apply(batch) {
      if (!held) throw new Error('apply needs a lane that open has claimed');
      const lane = held;
      const outgoing = splitBatch(batch, {
        ...resource,
        connectionId: lane.connectionId,
        mode: lane.mode,
        preparedAt: new Date(clock.now()),
        recordsMax: options.batchSize,
        bytesMax: options.maxBatchBytes,
        takenBytesMax: lane.bytesMax,
      });
      await outbox.prepare(batch, outgoing);
      // From here on only an open can take up what fails half-way.
      held = null;
      const { rejected } = await sendAll({ ...batch, ...outgoing }, { lane, post, outbox });
      held = lane;
      return rejected;
    },
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  };
}

/** The lane that a destination holds. */
interface HeldLane {
  readonly connectionId: string;
  readonly mode: WriteMode;
  /** What the receiver takes in one request, as far as this run has found out; null: no bound. */
  bytesMax: number | null;
}

interface Sending {
  readonly lane: HeldLane;
  readonly post: Post;
  readonly outbox: Outbox;
}

/** Posts what is left of a batch, strictly one part after the other, and settles it. */
async function sendAll(pending: PendingBatch, { lane, post, outbox }: Sending) {
  const { runId, batchNo } = pending;
  let waiting = pending.parts;
  let rejected = pending.rejected;
  for (let [part] = waiting; part; [part] = waiting) {
    const { refused, parts } = await sendPart(part, { lane, post });
    rejected = [...rejected, ...refused];
    await outbox.advance({ part, rejected, parts, bytesMax: lane.bytesMax });
    const isLate = (one: OutboxPart) => one.again && !part?.again;
    waiting = [...parts.filter((one) => !isLate(one)), ...waiting.slice(1), ...parts.filter(isLate)];
  }
  rejected = rejected.toSorted((one, other) => one.index - other.index);
  const receipt = await receiptOf(pending, rejected, outbox);
  await outbox.settle(receipt);
  return { rejected, checkpoint: { runId, batchNo, receipt } };
}

/** A resource that does not put up with refused records has no receipt for them; what it read is read again. */
async function receiptOf(pending: PendingBatch, rejected: readonly RejectedRow[], outbox: Outbox): Promise<string> {
  try {
    return pending.receipt(rejected);
  } catch (error) {
    await outbox.discard();
    throw error;
  }
}

/** What a part came to. */
interface SentPart {
  readonly refused: readonly RejectedRow[];
  /** What is still to be sent of it. */
  readonly parts: readonly OutboxPart[];
}

async function sendPart(part: OutboxPart, { lane, post }: Omit<Sending, 'outbox'>): Promise<SentPart> {
  const bytes = Buffer.byteLength(part.body);
  const halves = part.indexes.length > 1 ? { refused: [], parts: halvesOf(part) } : null;
  if (halves && lane.bytesMax !== null && bytes > lane.bytesMax) return halves;
  const verdict = await post(part);
  if (verdict.kind === 'accepted') return settlePart(part, verdict.refusals);
  if (verdict.kind === 'refused') {
    return halves ?? refusedAlone(part, `Refused by the receiver: it answered ${verdict.status} to this record alone.`);
  }
  if (!halves) return refusedAlone(part, 'too_large: the receiver answered 413 to this record alone.');
  lane.bytesMax = Math.floor(bytes / 2);
  return halves;
}

/** External ids that were not sent mean nothing; a deletion that is refused leaves no record to keep. */
function settlePart(part: OutboxPart, refusals: readonly Refusal[]): SentPart {
  if (refusals.length === 0) return { refused: [], parts: [] };
  const byId = new Map(refusals.map((refusal) => [refusal.externalId, refusal]));
  const found = recordsOf(part).flatMap((record) => {
    const refusal = byId.get(record.externalId);
    return refusal ? [{ ...record, ...refusal }] : [];
  });
  const again = found.filter(({ retryable }) => retryable && !part.again);
  const refused = found.filter(({ retryable, isDelete }) => !isDelete && (part.again || !retryable));
  const positions = again.map(({ position }) => position);
  return {
    refused: refused.map(({ index, externalId, message }) => ({ index, externalId, message })),
    parts: positions.length > 0 ? [againOf(part, positions)] : [],
  };
}

function refusedAlone(part: OutboxPart, message: string): SentPart {
  const refused = recordsOf(part).filter(({ isDelete }) => !isDelete);
  return { refused: refused.map(({ index, externalId }) => ({ index, externalId, message })), parts: [] };
}

type Post = (part: OutboxPart) => Promise<Exclude<WebhookVerdict, { readonly kind: 'ended' | 'later' | 'failing' }>>;

/** Posts until there is an answer that counts. What takes longer than a moment the run waits for, which can end. */
function createPatientPost(client: WebhookClient, outbox: Outbox, clock: Clock): Post {
  const pauseAfter = async (
    verdict: Extract<WebhookVerdict, { readonly kind: 'later' | 'failing' }>,
  ): Promise<Pause> => {
    if (verdict.kind === 'later') {
      return { waitMs: verdict.waitMs, otherwise: away('asks for more time than limits.maxDurationSeconds leaves') };
    }
    const failing = await outbox.failed();
    const otherwise = away(`${verdict.what} ${failing.failures} times in a row`);
    if (failing.sinceMs > failingMsMax) throw otherwise;
    return { waitMs: backoffMs(failing, clock.random), otherwise };
  };
  return async (part) => {
    const startedAt = clock.now();
    for (;;) {
      const verdict = await client.post(part);
      if (verdict.kind === 'ended') throw verdict.error;
      if (verdict.kind !== 'later' && verdict.kind !== 'failing') return verdict;
      const { waitMs, otherwise } = await pauseAfter(verdict);
      if (clock.now() - startedAt + waitMs > durableWaitMs) throw new ThrottledError(waitMs, otherwise);
      await clock.sleep(waitMs);
    }
  };
}

/** Before the next attempt. */
interface Pause {
  readonly waitMs: number;
  /** See {@link ThrottledError.otherwise}. */
  readonly otherwise: AppError;
}

/** 1 s, 2 s, 4 s … up to 5 min, each a fifth more or less. */
const backoffMs = ({ failures }: Failing, random: () => number): number =>
  Math.min(1000 * 2 ** (failures - 1), backoffMsMax) * (0.8 + 0.4 * random());

const away = (what: string): AppError =>
  new AppError(
    'destination_unavailable',
    `The receiver ${what}. Mend it and start the sync again: it goes on with the batch that was not answered.`,
    { isFinal: true },
  );

const cannotReplace = (): AppError =>
  new AppError(
    'destination_rejected',
    'target.mode "replace" needs a table whose rows can be exchanged at once, which a webhook is not; use "upsert".',
  );

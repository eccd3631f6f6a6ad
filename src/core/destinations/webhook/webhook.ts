/**
 * Records posted to a customer's URL. A receiver keeps no checkpoint, so the control database does. Requests are committed to the
 * outbox before they are sent, byte for byte, and responses before the next request. Only a request without a final response is
 * posted again, under the same id. A receiver that drops known ids sees each record once. Concurrent requests have no record in
 * common, so versions of a record arrive in order.
 */

import { setTimeout as sleepFor } from 'node:timers/promises';
import { AppError } from '../../errors.ts';
import type { RejectedRow } from '../../model/batch.ts';
import type { Destination, WriteMode } from '../destination.ts';
import { createWebhookClient, type WebhookClientDeps } from './client.ts';
import { parseWebhookOptions } from './options.ts';
import type { Outbox, OutboxPart, OutboxPlace, PendingBatch } from './outbox.ts';
import { partitionsOf } from './partitions.ts';
import { againOf, halvesOf, recordsOf, type SentResource, splitBatch } from './parts.ts';
import type { Rejection } from './response.ts';
import { type Clock, createPatientPost, type PatientPost } from './retry-wait.ts';

export interface WebhookDeps extends WebhookClientDeps {
  readonly outbox: Outbox;
  readonly resource: SentResource;
  /** Tells receivers at one address apart; empty if nothing does. */
  readonly receiver?: string;
  /** The rest of the response counts. */
  readonly onStrayRejections: (stray: StrayRejections) => void;
}

/** The names are the receiver's text and stay out of logs. */
export interface StrayRejections {
  readonly partId: string;
  readonly rejections: number;
}

const realClock: Clock = { now: Date.now, sleep: (ms) => sleepFor(ms), random: Math.random };

/**
 * Nothing connects before a batch is sent. `open` and `apply` also throw `ThrottledError` when the receiver needs a longer pause:
 * the next attempt continues with the same bytes.
 *
 * Throws `destination_rejected` at once when the options cannot work.
 */
export function openWebhook(
  given: Readonly<Record<string, unknown>>,
  deps: WebhookDeps,
  clock: Clock = realClock,
): Destination {
  const options = parseWebhookOptions(given);
  const { outbox, resource, receiver = '', onStrayRejections } = deps;
  const { parallelism } = options;
  const client = createWebhookClient(options, deps, clock.now);
  const sendingOf = (lane: HeldLane): Sending => {
    const { post, end } = createPatientPost(client, outbox, clock);
    return { lane, parallelism, restored: new Set(), post, end, outbox, onStrayRejections };
  };
  let held: HeldLane | null = null;

  return {
    // A test request might count as delivered, so only the address is checked.
    async check() {
      await deps.guard.vetUrl(options.url);
      return 'The address of the receiver is allowed; nothing was sent to it.';
    },
    // Its checkpoint is the outbox, in the control database.
    peek: async () => null,
    async open({ connectionId, generation, target }) {
      if (target.mode === 'replace') throw cannotReplace();
      const { pending, bytesMax, sequence, ...known } = await outbox.open({
        ...placeOf(options.url, receiver),
        generation,
      });
      const lane: HeldLane = { connectionId, mode: target.mode, bytesMax, sequence };
      const sent = pending && (await sendAll(pending, { ...sendingOf(lane), restored: new Set(pending.parts) }));
      const checkpoint = sent ? sent.checkpoint : known.checkpoint;
      const carried = pending?.isCarried ? checkpoint?.receipt : known.carried;
      held = lane;
      if (!checkpoint || pending?.isOfBefore) return { fresh: true, checkpoint: null };
      return { fresh: false, checkpoint, ...(carried && { carried }) };
    },
    // The sent body contains the time of sending.
    prepare() {},
    async apply(batch) {
      if (!held) throw new Error('apply needs a lane that open has claimed');
      const lane = held;
      const outgoing = await splitBatch(batch, {
        ...resource,
        connectionId: lane.connectionId,
        mode: lane.mode,
        preparedAt: new Date(clock.now()),
        sequenceBefore: lane.sequence,
        recordsMax: options.batchSize,
        bytesMax: options.maxBatchBytes,
        takenBytesMax: lane.bytesMax,
        parallelism,
      });
      lane.sequence += outgoing.parts.length;
      await outbox.prepare(batch, outgoing, lane.sequence);
      // From here on only `open` can continue a batch that fails half-way.
      held = null;
      const { rejected } = await sendAll({ ...batch, ...outgoing }, sendingOf(lane));
      held = lane;
      return rejected;
    },
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  };
}

/** The query of a URL, and a user in it, are credentials: a receiver with a rotated key is still the same. */
const placeOf = ({ origin, pathname, href }: URL, receiver: string): Omit<OutboxPlace, 'generation'> => {
  const formerTarget = `${origin}${pathname}`;
  const target = receiver === '' ? formerTarget : `${formerTarget}\n${receiver}`;
  return { target, formerTarget, targetBefore: href };
};

interface HeldLane {
  readonly connectionId: string;
  readonly mode: WriteMode;
  /** As found by this run; `null` if no bound is known. */
  bytesMax: number | null;
  sequence: number;
}

interface Sending extends PatientPost, Pick<WebhookDeps, 'outbox' | 'onStrayRejections'> {
  readonly lane: HeldLane;
  readonly parallelism: number;
  /** Parts of an earlier attempt, which may have sent them. */
  readonly restored: ReadonlySet<OutboxPart>;
}

type SentBatch = Omit<PendingBatch, 'isCarried' | 'isOfBefore'>;

/**
 * Within each partition, parts are posted strictly in order. When one fails, the others finish their requests in progress:
 * nothing is sent once this has thrown.
 */
async function sendAll(pending: SentBatch, sending: Sending) {
  const { runId, batchNo } = pending;
  const { outbox, parallelism } = sending;
  const partitions = await partitionsOf(pending.parts, parallelism);
  const sent = partitions.map((parts) => sendPartition(parts, sending));
  let rejected = pending.rejected;
  try {
    rejected = [rejected, ...(await Promise.all(sent))].flat().toSorted((one, other) => one.index - other.index);
  } finally {
    await Promise.allSettled(sent);
  }
  const receipt = await receiptOf(pending, rejected, outbox);
  await outbox.complete(receipt);
  return { rejected, checkpoint: { runId, batchNo, receipt } };
}

async function sendPartition(parts: readonly OutboxPart[], sending: Sending): Promise<readonly RejectedRow[]> {
  const { lane, outbox, end } = sending;
  const rejected: RejectedRow[] = [];
  let waiting = parts;
  try {
    for (let [part] = waiting; part; [part] = waiting) {
      const step = await sendPart(part, sending);
      await outbox.advance({ part, ...step, bytesMax: lane.bytesMax });
      rejected.push(...step.refused);
      const isLate = (one: OutboxPart) => one.again && !part?.again;
      waiting = [...step.parts.filter((one) => !isLate(one)), ...waiting.slice(1), ...step.parts.filter(isLate)];
    }
  } catch (error) {
    end(error);
    throw error;
  }
  return rejected;
}

/** A resource that does not allow refused records has no receipt for them; its pages are read again. */
async function receiptOf(pending: SentBatch, rejected: readonly RejectedRow[], outbox: Outbox): Promise<string> {
  try {
    return pending.receipt(rejected);
  } catch (error) {
    await outbox.discard();
    throw error;
  }
}

interface SentPart {
  readonly refused: readonly RejectedRow[];
  readonly parts: readonly OutboxPart[];
}

async function sendPart(part: OutboxPart, { lane, restored, post, onStrayRejections }: Sending): Promise<SentPart> {
  const bytes = Buffer.byteLength(part.body);
  const halves = part.indexes.length > 1 ? { refused: [], parts: halvesOf(part) } : null;
  // Halves have ids of their own, so only a part that was never sent is halved without being sent.
  if (halves && !restored.has(part) && lane.bytesMax !== null && bytes > lane.bytesMax)
    return part.mayBeTaken ? asDoubted(halves) : halves;
  const { verdict, isDoubted } = await post(part);
  const mayBeTaken = isDoubted || part.mayBeTaken;
  const doubted = (sent: SentPart): SentPart => (mayBeTaken ? asDoubted(sent) : sent);
  if (verdict.kind === 'accepted' && verdict.isBare && isDoubted) return doubted(doubtedResult(part));
  if (verdict.kind === 'accepted')
    return doubted(partResult(part, { rejections: verdict.rejections, onStrayRejections }));
  if (verdict.kind === 'refused') {
    const message = `Refused by the receiver: it responded with ${verdict.status} to this record alone`;
    return doubted(halves ?? refusedAlone(part, message));
  }
  if (!halves) return doubted(refusedAlone(part, 'too_large: the receiver responded with 413 to this record alone'));
  lane.bytesMax = Math.min(lane.bytesMax ?? bytes, Math.floor(bytes / 2));
  return doubted(halves);
}

/** The receiver may have taken any record that was sent before, except those that it names as refused. */
const asDoubted = ({ refused, parts }: SentPart): SentPart => ({
  refused: refused.map((one) => (one.isNamed ? one : { ...one, isDoubtful: true })),
  parts: parts.map((part) => ({ ...part, mayBeTaken: true })),
});

interface PartResponse extends Pick<WebhookDeps, 'onStrayRejections'> {
  readonly rejections: readonly Rejection[];
}

function partResult(part: OutboxPart, { rejections, onStrayRejections }: PartResponse): SentPart {
  if (rejections.length === 0) return { refused: [], parts: [] };
  const byId = new Map(rejections.map((rejection) => [rejection.externalId, rejection]));
  const records = recordsOf(part);
  const sent = new Set(records.map(({ externalId }) => externalId));
  const stray = rejections.filter(({ externalId }) => !sent.has(externalId)).length;
  if (stray > 0) onStrayRejections({ partId: part.id, rejections: stray });
  const found = records.flatMap((record) => {
    const rejection = byId.get(record.externalId);
    return rejection ? [{ ...record, ...rejection }] : [];
  });
  const again = found.filter(({ retryable }) => retryable && !part.again);
  const refused = found.filter(({ retryable }) => part.again || !retryable);
  const positions = again.map(({ position }) => position);
  return {
    refused: refused.map(({ index, externalId, message }) => ({ index, externalId, message, isNamed: true })),
    parts: positions.length > 0 ? [againOf(part, positions)] : [],
  };
}

/** It is unknown which records are refused: they are sent once more, and then refused. */
function doubtedResult(part: OutboxPart): SentPart {
  if (!part.again) return { refused: [], parts: [againOf(part, [...part.indexes.keys()])] };
  return refusedAlone(
    part,
    'The receiver refused some of these records in a form that cannot be read, and no longer says which',
  );
}

const refusedAlone = (part: OutboxPart, message: string): SentPart => ({
  refused: recordsOf(part).map(({ index, externalId }) => ({ index, externalId, message })),
  parts: [],
});

const cannotReplace = (): AppError =>
  new AppError(
    'destination_rejected',
    'target.mode "replace" needs a table, which a webhook does not have; use "upsert".',
  );

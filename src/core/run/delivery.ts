/**
 * Outgoing batches: delivered to the destination, then recorded in the ledger, strictly one after the other,
 * while the next pages are being read and processed.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Destination } from '../destinations/destination.ts';
import { AppError, takenOver } from '../errors.ts';
import { isQuietEnd } from '../model/receipt.ts';
import { assembleBatch, type PageBatch, type ReadyPage } from '../pipeline/batch.ts';
import type { createInvalidLimit } from '../pipeline/invalid-limit.ts';
import type { KnownRecords } from '../pipeline/known-records.ts';
import type { Resource } from '../spec/schema/spec-schema.ts';
import type { RunLedger } from './run-ledger.ts';

/** Rows that fill a batch: beyond it, larger statements gain nothing (measured with 16 columns). */
const rowsMax = 1000;
/** Pages that fill a batch although they brought few rows: an unchanged million still shows progress. */
const pagesMax = 50;
/**
 * The milliseconds after the previous batch at which one that is not full is sent, even without another page; the first
 * page of a run is sent at once.
 */
const pauseMsMax = 250;

interface DeliveryOptions {
  readonly ledger: RunLedger;
  readonly runId: string;
  readonly resource: Resource;
  readonly destination: Pick<Destination, 'prepare' | 'apply'>;
  readonly known: KnownRecords;
  /** Resolves when every request so far is in the call log. Nothing is delivered before that. */
  readonly callsStored: () => Promise<void>;
  /** Masks secrets in stored parts of a record. */
  readonly redact: (text: string) => string;
  /** Seals what of a page repeats a secret and is stored to go on from. Absent: nothing is sealed. */
  readonly seal?: (page: ReadyPage) => Promise<ReadyPage>;
  /** The last batch recorded. */
  readonly batchNo: number;
  /**
   * The first batch is applied though it brings nothing: the destination has nothing of the lane yet, or its last batch is too
   * old, and an applied batch ends that.
   */
  readonly appliesFirst: boolean;
  /** Stops the run before a delivery. */
  readonly invalidLimit: ReturnType<typeof createInvalidLimit>;
}

/** A batch that may be sent once the calls of its pages are stored. */
interface PreparedBatch {
  readonly pages: readonly ReadyPage[];
  readonly batch: PageBatch;
  readonly callsStored: Promise<void>;
}

/** Takes processed pages in order; at most one batch is in progress while the next one fills. */
export interface Delivery {
  /** Waits while a full batch cannot be sent yet: this keeps memory flat. */
  add(page: ReadyPage): Promise<void>;
  /** Resolves when everything added so far is delivered and recorded. Throws what the delivery threw. */
  drained(): Promise<void>;
  /** Sends nothing more, and waits for the batch in progress, `ms` at most. */
  abandon(ms: number): Promise<void>;
  /** The run was canceled or ended elsewhere: read no further. */
  readonly stopped: boolean;
  /** A batch is in progress. */
  readonly isInProgress: boolean;
}

/** Delivery for one attempt. */
export function createDelivery(options: DeliveryOptions): Delivery {
  let filling: ReadyPage[] = [];
  let rows = 0;
  let sentAt = Number.NEGATIVE_INFINITY;
  let batchNo = options.batchNo;
  let inProgress = Promise.resolve();
  /** Batches sent and not yet at their end: at most one in progress and one behind it. */
  let pending = 0;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  let abandoned = false;

  /** Sends the gathered pages behind the batch in progress, and waits for that batch. */
  const send = async () => {
    clearTimeout(timer);
    const before = inProgress;
    if (filling.length > 0) {
      batchNo += 1;
      inProgress = deliverBehind(before, prepareBatch(options, filling, batchNo));
      // The next caller that waits for it gets the failure; until then it must not count as unhandled.
      inProgress.catch(() => undefined);
      filling = [];
      rows = 0;
    }
    await before;
  };

  const deliverBehind = async (before: Promise<void>, next: PreparedBatch) => {
    pending += 1;
    try {
      await before;
      if (abandoned) return;
      sentAt = performance.now();
      const { stop, failure } = await deliverBatch(options, next);
      stopped = stop;
      if (failure !== null) throw new AppError('record_invalid', failure);
    } finally {
      pending -= 1;
    }
    sendLater();
  };

  /** The next page may take long. */
  const sendLater = () => {
    clearTimeout(timer);
    if (pending > 0 || filling.length === 0) return;
    timer = setTimeout(
      () => {
        // The next caller that waits gets the same error.
        send().catch(() => undefined);
      },
      Math.max(0, sentAt + pauseMsMax - performance.now()),
    );
  };

  return {
    async add(page) {
      filling.push((await options.seal?.(page)) ?? page);
      rows += page.outcomes.length;
      const full = rows >= rowsMax || filling.length >= pagesMax;
      if (full || performance.now() - sentAt >= pauseMsMax) await send();
      else sendLater();
    },
    async drained() {
      await send();
      await inProgress;
    },
    async abandon(ms) {
      abandoned = true;
      await Promise.race([inProgress.catch(() => undefined), sleep(ms, undefined, { ref: false })]);
    },
    get stopped() {
      return stopped;
    },
    get isInProgress() {
      return pending > 0;
    },
  };
}

/** Prepares a batch while the previous one is still in progress; never throws. */
function prepareBatch(options: DeliveryOptions, pages: readonly ReadyPage[], batchNo: number): PreparedBatch {
  const { destination, ledger, resource, runId, redact } = options;
  const batch = assembleBatch(pages, { resource, runId, batchNo, redact });
  destination.prepare(batch);
  // Assumes that no row is refused, which is true of nearly every batch.
  ledger.prepare(batch.receiptOf([]));
  const callsStored = options.callsStored();
  callsStored.catch(() => undefined);
  return { pages, batch, callsStored };
}

/** What a recorded batch means for its run. */
interface Delivered {
  readonly stop: boolean;
  /** Why the run fails; null: it does not. */
  readonly failure: string | null;
}

/** Applies a batch at the destination and records its receipt. */
async function deliverBatch(
  options: DeliveryOptions,
  { pages, batch, callsStored }: PreparedBatch,
): Promise<Delivered> {
  const { ledger, destination, known } = options;
  options.invalidLimit(pages);
  await callsStored;
  // A batch without rows is not sent, so an unchanged source costs the destination nothing. Only a new destination
  // must apply the first batch before it is recorded, or the next attempt would forget what was recorded.
  const isFirst = options.appliesFirst && batch.batchNo === options.batchNo + 1;
  const brings = batch.rows.length > 0 || batch.tombstones.length > 0 || batch.completesGeneration;
  const rejected = brings || isFirst ? await destination.apply(batch) : [];
  const receipt = batch.receiptOf(rejected);
  if (!brings && !isFirst && isQuietEnd(receipt)) {
    ledger.leaveToEnd(receipt);
    return { stop: false, failure: null };
  }
  const recorded = await ledger.record(receipt, brings || isFirst);
  if (recorded.outcome !== 'recorded') throw takenOver();
  known.commit(receipt);
  return { stop: recorded.stop, failure: receipt.failure };
}

/** Delivers batches to the destination and records them in the ledger, one after the other, while later pages are read. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Destination } from '../destinations/destination.ts';
import { AppError, takenOver } from '../errors.ts';
import { isQuietEnd } from '../model/receipt.ts';
import { assembleBatch, type PageBatch, type ReadyPage } from '../pipeline/batch.ts';
import type { createInvalidLimit } from '../pipeline/invalid-limit.ts';
import type { KnownRecords } from '../pipeline/known-records.ts';
import type { Masking } from '../pipeline/quarantine-entry.ts';
import type { Resource } from '../spec/schema/spec-schema.ts';
import type { RunLedger } from './run-ledger.ts';

/** Rows that fill a batch; larger statements gain nothing (measured with 16 columns). */
const rowsMax = 1000;
/** Pages that fill a batch with few rows, so that a million unchanged records still show progress. */
const pagesMax = 50;
/** Milliseconds after the previous batch when a partial one is sent; the first page of a run is sent at once. */
const pauseMsMax = 250;

interface DeliveryOptions extends Masking {
  readonly ledger: RunLedger;
  readonly runId: string;
  readonly resource: Resource;
  readonly destination: Pick<Destination, 'prepare' | 'apply'>;
  readonly known: KnownRecords;
  /** Resolves when every request so far is in the call log; nothing is delivered before that. */
  readonly callsStored: () => Promise<void>;
  /** Seals parts of a page that repeat a secret and are stored for a later attempt. */
  readonly sealPage?: (page: ReadyPage) => Promise<ReadyPage>;
  readonly batchNo: number;
  /** Applies even an empty first batch, as the destination has nothing of the lane or its last batch is too old. */
  readonly appliesFirst: boolean;
  readonly invalidLimit: ReturnType<typeof createInvalidLimit>;
}

interface PreparedBatch {
  readonly pages: readonly ReadyPage[];
  readonly batch: PageBatch;
  readonly callsStored: Promise<void>;
}

/** Takes processed pages in order; at most one batch is in progress while the next one fills. */
export interface Delivery {
  /** Waits while a full batch cannot be sent yet, which keeps memory flat. */
  add(page: ReadyPage): Promise<void>;
  /** Resolves when everything added so far is delivered and recorded; rejects with the error of the delivery. */
  drained(): Promise<void>;
  /** Sends nothing more, and waits at most `ms` for the batch in progress. */
  abandon(ms: number): Promise<void>;
  /** The run was canceled or ended elsewhere: stop reading. */
  readonly stopped: boolean;
  readonly isInProgress: boolean;
}

/** Creates the delivery for one attempt. */
export function createDelivery(options: DeliveryOptions): Delivery {
  let filling: ReadyPage[] = [];
  let rows = 0;
  let sentAt = Number.NEGATIVE_INFINITY;
  let batchNo = options.batchNo;
  let inProgress = Promise.resolve();
  /** Batches sent but not completed: at most one in progress and one queued behind it. */
  let pending = 0;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  let abandoned = false;

  const send = async () => {
    clearTimeout(timer);
    const before = inProgress;
    if (filling.length > 0) {
      batchNo += 1;
      inProgress = deliverBehind(before, prepareBatch(options, filling, batchNo));
      // The next caller that awaits it gets the failure; until then it must not count as unhandled.
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

  const sendLater = () => {
    clearTimeout(timer);
    if (pending > 0 || filling.length === 0) return;
    timer = setTimeout(
      () => {
        // The next caller that awaits it gets the same error.
        send().catch(() => undefined);
      },
      Math.max(0, sentAt + pauseMsMax - performance.now()),
    );
  };

  return {
    async add(page) {
      filling.push((await options.sealPage?.(page)) ?? page);
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

/** Prepares a batch while the previous one is in progress; never throws. */
function prepareBatch(options: DeliveryOptions, pages: readonly ReadyPage[], batchNo: number): PreparedBatch {
  const { destination, ledger, resource, runId, redact, seal } = options;
  const batch = assembleBatch(pages, { resource, runId, batchNo, redact, seal });
  destination.prepare(batch);
  // Nearly every batch is applied without refused rows.
  ledger.prepare(batch.receiptOf([]));
  const callsStored = options.callsStored();
  callsStored.catch(() => undefined);
  return { pages, batch, callsStored };
}

interface Delivered {
  readonly stop: boolean;
  readonly failure: string | null;
}

async function deliverBatch(
  options: DeliveryOptions,
  { pages, batch, callsStored }: PreparedBatch,
): Promise<Delivered> {
  const { ledger, destination, known } = options;
  options.invalidLimit(pages);
  await callsStored;
  // A batch without rows is not sent, so an unchanged source costs the destination nothing. A new destination must
  // apply the first batch before it is recorded, or the next attempt would forget what was recorded.
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

/**
 * Batches on their way out: delivered at the destination, then recorded in the control database, strictly one after
 * the other, while the next pages are being read and processed.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from '../db/client.ts';
import { prepareRecord, recordBatch } from '../db/queries/runs/batches.ts';
import type { OrgScope } from '../db/scope.ts';
import type { Destination } from '../src/core/destinations/destination.ts';
import { AppError, takenOver } from '../src/core/errors.ts';
import { assembleBatch, type PageBatch, type ReadyPage } from '../src/core/pipeline/batch.ts';
import type { createInvalidBrake } from '../src/core/pipeline/invalid-brake.ts';
import type { KnownRecords } from '../src/core/pipeline/known-records.ts';
import type { Resource } from '../src/core/spec/schema/spec-schema.ts';
import type { CallLog } from './call-log.ts';

/** Rows that fill a batch: beyond it, larger statements gain nothing (measured with 16 columns). */
const rowsMax = 1000;
/** Pages that fill a batch although they brought few rows: an unchanged million still shows progress. */
const pagesMax = 50;
/**
 * A batch that is not full leaves this long after the one before it, ms, whether or not another page comes; the first
 * page of a run leaves at once.
 */
const pauseMsMax = 250;

interface DeliveryOptions {
  readonly db: Db;
  readonly scope: OrgScope;
  readonly runId: string;
  readonly owner: { readonly laneId: number; readonly fence: number };
  readonly resource: Resource;
  readonly destination: Destination;
  readonly known: KnownRecords;
  readonly callLog: CallLog;
  /** Masks secrets in what is kept of a record. */
  readonly redact: (text: string) => string;
  /** The last batch recorded. */
  readonly batchNo: number;
  /** Nothing of the lane is at the destination yet; the first batch applied ends that. */
  readonly fresh: boolean;
  /** Stops the run before a delivery. */
  readonly brake: ReturnType<typeof createInvalidBrake>;
}

/** A batch that may leave once the calls that brought its pages are stored. */
interface PreparedBatch {
  readonly pages: readonly ReadyPage[];
  readonly batch: PageBatch;
  readonly callsStored: Promise<void>;
}

/** Takes processed pages in order; at most one batch is under way while the next one fills. */
export interface Delivery {
  /** Waits while a full batch cannot leave yet: this is what keeps memory flat. */
  add(page: ReadyPage): Promise<void>;
  /** Everything added so far is delivered and recorded. Throws what the delivery threw. */
  drained(): Promise<void>;
  /** Sends nothing more, and waits for the batch under way, `ms` at most. */
  abandon(ms: number): Promise<void>;
  /** The run was canceled or ended by somebody else: read no further. */
  readonly stopped: boolean;
  /** A batch is on its way. */
  readonly isUnderWay: boolean;
}

/** Delivery for one attempt. */
export function createDelivery(options: DeliveryOptions): Delivery {
  let filling: ReadyPage[] = [];
  let rows = 0;
  let leftAt = Number.NEGATIVE_INFINITY;
  let batchNo = options.batchNo;
  let underWay = Promise.resolve();
  /** Batches that left and have not arrived: one under way and one behind it at most. */
  let pending = 0;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  let abandoned = false;

  /** Sends what is gathered off behind the batch under way, and waits for that one. */
  const leave = async () => {
    clearTimeout(timer);
    const before = underWay;
    if (filling.length > 0) {
      underWay = deliverBehind(before, prepare(filling));
      // Whoever waits next for it sees the failure; until then it must not count as unhandled.
      underWay.catch(() => undefined);
      filling = [];
      rows = 0;
    }
    await before;
  };

  const deliverBehind = async (before: Promise<void>, next: PreparedBatch) => {
    pending += 1;
    await before;
    if (abandoned) return;
    await deliver(next);
    pending -= 1;
    leaveLater();
  };

  /** The next page may be long in coming. */
  const leaveLater = () => {
    clearTimeout(timer);
    if (pending > 0 || filling.length === 0) return;
    timer = setTimeout(
      () => {
        // What it throws, whoever waits next hears too.
        leave().catch(() => undefined);
      },
      leftAt + pauseMsMax - performance.now(),
    );
  };

  /** What can be done while the batch before is still on its way; it never throws. */
  const prepare = (pages: readonly ReadyPage[]): PreparedBatch => {
    const { destination, callLog, resource, runId, redact } = options;
    batchNo += 1;
    const batch = assembleBatch(pages, { resource, runId, batchNo, redact });
    destination.prepare(batch);
    // As if no row were refused, which is so of nearly every batch.
    prepareRecord(batch.receiptOf([]));
    const callsStored = callLog.stored();
    callsStored.catch(() => undefined);
    return { pages, batch, callsStored };
  };

  const deliver = async ({ pages, batch, callsStored }: PreparedBatch) => {
    const { db, scope, owner, destination, known } = options;
    leftAt = performance.now();
    options.brake(pages);
    await callsStored;
    // Without rows the destination has nothing to promise, and an unchanged source costs it nothing. Only a new one
    // must hear of the first batch before it is recorded, or the next attempt would forget what was recorded.
    const isFirst = options.fresh && batch.batchNo === options.batchNo + 1;
    const brings = batch.rows.length > 0 || batch.tombstones.length > 0 || batch.completesGeneration;
    const rejected = brings || isFirst ? await destination.apply(batch) : [];
    const receipt = batch.receiptOf(rejected);
    const recorded = await recordBatch(db, scope, { owner, receipt });
    if (recorded.outcome !== 'recorded') throw takenOver();
    known.commit(receipt);
    stopped = recorded.stop;
    if (receipt.failure !== null) throw new AppError('record_invalid', receipt.failure);
  };

  return {
    async add(page) {
      filling.push(page);
      rows += page.outcomes.length;
      const full = rows >= rowsMax || filling.length >= pagesMax;
      if (full || performance.now() - leftAt >= pauseMsMax) await leave();
      else leaveLater();
    },
    async drained() {
      await leave();
      await underWay;
    },
    async abandon(ms) {
      abandoned = true;
      await Promise.race([underWay.catch(() => undefined), sleep(ms, undefined, { ref: false })]);
    },
    get stopped() {
      return stopped;
    },
    get isUnderWay() {
      return pending > 0;
    },
  };
}

import type { Checkpoint, Destination, OpenedLane, TargetTable, WriteMode } from '../destinations/destination.ts';
import { codeOf } from '../error-code.ts';
import { AppError, checkpointChanged, takenOver } from '../errors.ts';
import { storableText } from '../json/storable-text.ts';
import type { LaneKey } from '../model/lane-key.ts';
import type { Receipt } from '../model/receipt.ts';
import type { HeldMemory } from '../model/response-memory.ts';
import { deletesFirst, type RunPosition } from '../model/run-position.ts';
import type { DecodeTurns } from '../source/decode/decode-turns.ts';
import type { OnBehind } from '../spec/schema/destination-schema.ts';
import { type ReceiptMemory, readReceipt } from './read-receipt.ts';
import type { RunLedger } from './run-ledger.ts';

/** The ledger's record of a run when an attempt takes its lane. */
export interface RecordedRun extends LaneKey {
  readonly runId: string;
  /** Larger than that of every earlier attempt on the lane. */
  readonly fence: number;
  /** Names the known state of the lane, see LaneClaim. */
  readonly generation: string;
  /** The last batch and page recorded, or 0. */
  readonly batchNo: number;
  readonly pageNo: number;
  /** `null` at the beginning of the run, and once it is read to its end. */
  readonly position: RunPosition | null;
  readonly readCompleted: boolean;
  readonly watermarkBefore: string | null;
  readonly recordsIn: number;
  readonly invalid: number;
  /** The destination may have records that a restored ledger does not know. */
  readonly lacksRecords: boolean;
}

/** Where an attempt continues: after the last batch that the destination has applied. */
export interface StartPoint extends Pick<RecordedRun, 'batchNo' | 'pageNo' | 'position' | 'readCompleted' | 'invalid'> {
  readonly records: number;
  /** Nothing of the lane is at the destination yet, see OpenedLane. */
  readonly fresh: boolean;
  /** The destination lacks batches, which the run delivers again; its first batch is applied in any case. */
  readonly isBehind: boolean;
  /** Records found at a destination that is new to the lane; only their presence is known. */
  readonly leftovers: number;
  /** External ids of records that an earlier run read and that were acknowledged in this run. */
  readonly carried: readonly string[];
}

/** `deliver_again`: the run was requested in order to deliver again what is missing. */
type WhenBehind = OnBehind | 'deliver_again';

interface RepairOptions {
  readonly run: RecordedRun;
  readonly ledger: RunLedger;
  readonly destination: Destination;
  readonly target: TargetTable;
  readonly turns: DecodeTurns;
  /** All rows of the connection in the table belong to this resource. */
  readonly ownsRows: boolean;
  readonly whenBehind: WhenBehind;
  /** Called when the destination is new to the lane, with the number of records known to the ledger. */
  readonly onStartOver: (records: number) => void;
  /** Called with the number of batches of the run that the ledger lacks, since it was restored from a backup. */
  readonly onBehind: (batches: number) => void;
}

interface Repair extends RepairOptions {
  /** The memory of the receipts that are read. */
  readonly held: HeldMemory;
}

/**
 * Claims the lane at the destination, and records a batch from its receipt that a crash left applied but not recorded.
 * The last batch of an earlier run counts as delivered by this one if it was acknowledged only now. At a destination
 * that is new to the lane, the read starts over.
 *
 * A ledger restored from a backup lacks several batches, with their quarantine and fingerprints: the run continues
 * there, delivers their records again, and notes which records the destination has. If the destination lacks batches, `whenBehind` decides: throw
 * `destination_behind`, deliver again, or start over.
 */
export async function repairFromCheckpoint(options: RepairOptions): Promise<StartPoint> {
  const held = options.turns.open();
  try {
    return await repair({ ...options, held });
  } finally {
    held.release();
  }
}

async function repair(options: Repair): Promise<StartPoint> {
  const { run, ledger } = options;
  const { runId } = run;
  const opened = await claim(options, run.generation);
  if (opened.fresh) return startOver(options);
  if (run.lacksRecords) {
    await noteLeftovers(options);
    if (!(await ledger.noteCompared())) throw takenOver();
  }
  const { checkpoint, fresh, carried } = opened;
  const start = {
    ...run,
    records: run.recordsIn,
    fresh,
    isBehind: false,
    leftovers: 0,
    carried: carried ? await idsIn(carried, options) : [],
  };
  if (checkpoint.runId === runId && checkpoint.batchNo <= run.batchNo) return unlessBehind(options, start, checkpoint);
  const receipt = await readReceipt(checkpoint.receipt, options);
  const isCarried = carried !== undefined && receipt.runId !== runId;
  const recorded = await storedOrChanged(() =>
    isCarried ? ledger.recordCarried(receipt) : ledger.record(receipt, true),
  );
  if (recorded.outcome === 'fenced') throw takenOver();
  if (recorded.outcome === 'stale' && receipt.runId === runId) {
    const passed = await ledger.passOver(receipt.batchNo);
    if (passed === 'fenced') throw takenOver();
    if (passed === 'passed') {
      options.onBehind(receipt.batchNo - run.batchNo);
      return { ...start, batchNo: receipt.batchNo };
    }
    // The previous attempt recorded it while this one waited for the lane; the receipt says how far it got.
  }
  if (receipt.failure !== null && (isCarried || receipt.runId === runId))
    throw new AppError('record_invalid', receipt.failure);
  if (receipt.runId !== runId && recorded.outcome !== 'stale') return start;
  if (receipt.runId !== runId) {
    // A rewind passes over a batch that is recorded only in the checkpoint.
    if (options.whenBehind === 'deliver_again') await noteDelivered(ledger, receipt);
    return unlessBehind(options, start, checkpoint);
  }
  return {
    ...start,
    batchNo: receipt.batchNo,
    pageNo: receipt.pages.at(-1)?.pageNo ?? run.pageNo,
    position: receipt.position,
    readCompleted: receipt.position === null,
    records: receipt.pages.reduce((sum, page) => sum + page.recordsIn, run.recordsIn),
    invalid: receipt.pages.reduce((sum, page) => sum + page.invalid, run.invalid),
  };
}

/** SQLSTATE of what the control database cannot hold: two rows for one, a value, null, a key twice, a check, a size. */
const unstorable = /^(?:21|22|23502|23505|23514|54)/;

/** A receipt of the service can be stored. */
async function storedOrChanged<Result>(record: () => Promise<Result>): Promise<Result> {
  try {
    return await record();
  } catch (error) {
    throw unstorable.test(codeOf(error)) ? checkpointChanged(error) : error;
  }
}

async function unlessBehind(options: Repair, start: StartPoint, last: Checkpoint): Promise<StartPoint> {
  const { run, ledger, target, whenBehind } = options;
  if (last.runId === run.runId && last.batchNo === run.batchNo) return start;
  // A complete read replaces all rows before it.
  const since = await ledger.behindSince(last, target.mode === 'replace');
  if (since === null) return start;
  if (whenBehind === 'deliver_again' && (await ledger.behindSince(last, true)) === null) {
    if (!(await ledger.noteRestored())) throw takenOver();
    return { ...start, isBehind: true, position: start.position ?? deletesFirst };
  }
  if (whenBehind === 'start_over') return startOver(options);
  throw destinationBehind(run, target.mode, since);
}

function destinationBehind({ connectionId, resourceKey }: LaneKey, mode: WriteMode, since: string): AppError {
  // The API has only the latest versions: a rewind refuses this mode, and no command starts a backfill.
  const isAppended = mode === 'append';
  const command = isAppended ? '' : `css rewind ${connectionId} ${resourceKey} --to ${since}, or `;
  const body = isAppended ? '"force": true' : `"rewindTo": "${since}"`;
  return new AppError(
    'destination_behind',
    `The destination has lost batches that it had committed: it was restored from an older copy, or crashed. What was delivered ` +
      `since ${since} may be missing. To deliver it again: ${command}` +
      `POST /connections/${connectionId}/backfill with {"resource": "${resourceKey}", ${body}}.`,
  );
}

/** Where an attempt continues if the destination, which is not called, has nothing unrecorded. */
export const startOfRecorded = (run: RecordedRun): StartPoint => ({
  ...run,
  records: run.recordsIn,
  fresh: false,
  isBehind: false,
  leftovers: 0,
  carried: [],
});

function claim({ run, ledger, destination, target, held }: Repair, generation: string): Promise<OpenedLane> {
  const { connectionId, resourceKey, fence } = run;
  const { written } = ledger;
  const lane = `${connectionId}/${resourceKey}`;
  return destination.open({ lane, fence, generation, connectionId, target, written, held });
}

async function idsIn(receipt: string, memory: ReceiptMemory): Promise<readonly string[]> {
  const { records, deleted } = await readReceipt(receipt, memory);
  return [...records.map(({ externalId }) => externalId), ...deleted];
}

/**
 * Deletes fingerprints and watermark before the read, since they describe rows that do not exist. The lane is claimed
 * as another generation, so that no other destination it was delivered to counts any more. Rows that are there are
 * noted, so that they can be found missing, also those under a former key. A crash before the first batch only repeats
 * this; batch and page numbers continue.
 */
async function startOver(options: Repair): Promise<StartPoint> {
  const { run, ledger, onStartOver } = options;
  const forgotten = await ledger.forget();
  if (forgotten === null) throw takenOver();
  const { records, position, generation } = forgotten;
  await claim(options, generation);
  const leftovers = await noteLeftovers(options);
  if (records > 0 || run.watermarkBefore !== null) onStartOver(records);
  return {
    ...run,
    position,
    readCompleted: false,
    records: run.recordsIn,
    fresh: true,
    isBehind: false,
    leftovers,
    carried: [],
  };
}

/** Notes the delivered records of a batch, so that they can be found missing. */
async function noteDelivered(ledger: RunLedger, { records }: Receipt): Promise<void> {
  const ids = records.filter(({ status }) => status === 'delivered').map(({ externalId }) => externalId);
  if (ids.length > 0 && !(await ledger.noteLeftovers(ids))) throw takenOver();
}

/** Ids per page: the most rows that one database response may have. */
const leftoversAtOnce = 1000;

/** Notes records with rows in a new table, so that later deletions are found, and returns their number. */
async function noteLeftovers({ ledger, destination, target, ownsRows }: RepairOptions): Promise<number> {
  const hasOwnRows = target.mode === 'upsert' || target.mode === 'append';
  if (!destination.leftovers || !ownsRows || !hasOwnRows) return 0;
  for (let after: string | null = null, total = 0; ; ) {
    const ids: readonly string[] = await destination.leftovers({ after, limit: leftoversAtOnce });
    if (ids.length > 0 && !(await ledger.noteLeftovers(ids.filter(isStorableText)))) throw takenOver();
    total += ids.length;
    const last: string | null = ids.at(-1) ?? null;
    if (ids.length < leftoversAtOnce || last === after) return total;
    after = last;
  }
}

/** A text in a customer's table may not be a valid id. */
const isStorableText = (text: string): boolean => storableText(text) === text;

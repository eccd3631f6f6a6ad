import * as v from 'valibot';
import type { Deliverable } from '../model/batch.ts';
import type { Receipt } from '../model/receipt.ts';
import { RunStats } from '../resources/run.ts';
import { createMemoryRecords, type MemoryRecords } from './memory-records.ts';

/** State left by earlier runs. */
export interface RunStart {
  /** The watermark of every partition as canonical text, or `null`. */
  readonly watermark: string | null;
  /** External ids of delivered records. */
  readonly known: readonly string[];
}

/** The ledger of a run in memory. */
export interface MemoryLedger {
  readonly records: MemoryRecords;
  /** Records a batch that the destination took. */
  record(rows: readonly Deliverable[], receipt: Receipt): void;
  readonly watermarkBefore: string | null;
  /** The current watermark as canonical text, or `null`. */
  watermarkOf(partition: string): string | null;
  /** The lowest watermark of the `count` partitions, `null` if one of them has none. */
  watermarkAfter(count: number): string | null;
  /** Whether nothing was quarantined or omitted. */
  isClean(): boolean;
  totals(): {
    readonly stats: Readonly<RunStats>;
    /** In the order of delivery. */
    readonly delivered: readonly Deliverable['data'][];
    readonly deleted: readonly string[];
    readonly quarantined: readonly string[];
  };
}

/** A ledger before the first page. */
export function createMemoryLedger({ watermark, known }: RunStart): MemoryLedger {
  const records = createMemoryRecords(known);
  const watermarks = new Map<string, string | null>();
  /** Watermarks of partitions whose deletions are not made yet. */
  const pending = new Map<string, string | null>();
  const stats = { recordsIn: 0, recordsOut: 0, skipped: 0, deleted: 0, quarantined: 0 };
  const delivered: Deliverable['data'][] = [];
  const deleted: string[] = [];
  const quarantined = new Set<string>();
  let incomplete = false;
  return {
    records,
    watermarkBefore: watermark,
    record(rows, receipt) {
      const gone = records.load(receipt.deleted).filter(({ status }) => status === 'undelivered');
      const neverDelivered = new Set(gone.map(({ externalId }) => externalId));
      records.record(receipt);
      for (const entry of receipt.partitions) watermarks.set(entry.partition, entry.watermark);
      for (const { partition, completed } of receipt.proofs)
        if (completed?.watermark !== undefined) pending.set(partition, completed.watermark);
      if (receipt.scan) for (const [partition, text] of pending) watermarks.set(partition, text);
      for (const page of receipt.pages) for (const name of v.keyof(RunStats).options) stats[name] += page[name];
      delivered.push(...rows.map(({ data }) => data));
      deleted.push(...receipt.deleted.filter((externalId) => !neverDelivered.has(externalId)));
      for (const { externalId } of receipt.quarantine) quarantined.add(externalId);
      incomplete ||= receipt.incomplete;
    },
    watermarkOf: (partition) => watermarks.get(partition) ?? (watermarks.has(partition) ? null : watermark),
    watermarkAfter: (count) =>
      lowest([...watermarks.values(), ...(watermarks.size < Math.max(count, 1) ? [watermark] : [])]),
    isClean: () => quarantined.size === 0 && !incomplete,
    totals: () => ({ stats: { ...stats }, delivered, deleted, quarantined: [...quarantined] }),
  };
}

/** Compares integers by value, others as text: canonical instants sort like that. */
function lowest(watermarks: readonly (string | null)[]): string | null {
  const texts = watermarks.filter((text) => text !== null);
  if (texts.length < watermarks.length) return null;
  const isNumeric = texts.every((text) => /^-?\d+$/.test(text));
  const inOrder = texts.toSorted((a, b) => (isNumeric ? Number(BigInt(a) - BigInt(b)) : a < b ? -1 : 1));
  return inOrder[0] ?? null;
}

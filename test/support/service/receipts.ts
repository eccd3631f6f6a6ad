import type { TakeOptions } from '../../../db/queries/runs/attempts.ts';
import type { insertRun } from '../../../db/queries/runs/runs.ts';
import { paramsSecretKind } from '../../../src/connect/secrets.ts';
import type { PageEntry, PartitionEntry, QuarantineEntry, Receipt } from '../../../src/core/model/receipt.ts';

/** The watermark that {@link receiptOf} brings. */
export const watermark = '2026-01-01T00:00:00.000Z';

/** The last batch of a read without partitions: record `r1` delivered, another one unchanged. */
export const receiptOf = (runId: string, batchNo: number, parts: Partial<Receipt> = {}): Receipt => ({
  runId,
  batchNo,
  pages: [pageEntry({ pageNo: batchNo })],
  records: [{ externalId: 'r1', hash: 'aGFzaA', cursor: null, status: 'delivered', fields: null }],
  allNew: false,
  deleted: [],
  deliveredBefore: [],
  closes: null,
  closesVersions: [],
  seen: [],
  quarantine: [],
  retried: [],
  partitions: [partitionEntry()],
  proofs: [],
  scan: null,
  incomplete: false,
  notes: {},
  position: null,
  failure: null,
  ...parts,
});

/** A page of two records, one of them delivered. */
export const pageEntry = (parts: Partial<PageEntry> = {}): PageEntry => ({
  pageNo: 1,
  requestKey: 'k',
  recordsIn: 2,
  recordsOut: 1,
  skipped: 1,
  quarantined: 0,
  invalid: 0,
  deleted: 0,
  ...parts,
});

/** The one partition of a resource without `forEach`, read to its end. */
export const partitionEntry = (parts: Partial<PartitionEntry> = {}): PartitionEntry => ({
  partition: '',
  watermark,
  completed: { listedAt: null, validators: null },
  ...parts,
});

/** A record that was quarantined. */
export const quarantineEntry = (parts: Partial<QuarantineEntry> = {}): QuarantineEntry => ({
  id: 'quar_1',
  externalId: 'r1',
  rawJson: '{"v":1}',
  each: {},
  errors: [],
  version: '',
  isAgain: false,
  ...parts,
});

type NewRun = Parameters<typeof insertRun>[2];

/** A run of resource `a` that waits for nobody. */
export const newRun = (connectionId: string, parts: Partial<NewRun> = {}): NewRun => ({
  connectionId,
  resourceKey: 'a',
  trigger: 'manual',
  concurrentMax: 1,
  waitsFor: [],
  backfill: null,
  ...parts,
});

/** How an attempt that Temporal schedules now takes its lane. */
export const takeOptions = (parts: Partial<TakeOptions> = {}): TakeOptions => ({
  ...{ scheduledAtMs: Date.now(), isFirst: false, secretKind: paramsSecretKind },
  ...parts,
});

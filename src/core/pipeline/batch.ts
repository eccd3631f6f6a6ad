import type { Batch, RejectedRow } from '../destinations/destination.ts';
import type { ReadPosition } from '../source/read-position.ts';
import type { Resource } from '../spec/schema.ts';
import { invalidRecord, quarantineEntry } from './invalid-record.ts';
import type { Outcome, PageOutcome } from './page-outcome.ts';
import { encodeReceipt, type PageEntry, type QuarantineEntry, type Receipt, type RecordEntry } from './receipt.ts';

/** A processed page with its place in the read. */
export interface ReadyPage extends PageOutcome {
  readonly pageNo: number;
  readonly requestKey: string;
  /** Where reading goes on after it; null: the read is complete. */
  readonly positionAfter: ReadPosition | null;
  /** The watermark that holds once it and all before are delivered; null: none. */
  readonly watermarkAfter: string | null;
}

/** Pages that are delivered and recorded together. */
export interface PageBatch extends Batch {
  /** The receipt once the destination has said which rows it refuses. Throws `record_invalid` as the resource says. */
  receiptOf(rejected: readonly RejectedRow[]): Receipt;
}

interface BatchOptions {
  readonly resource: Pick<Resource, 'key'> & { readonly target: Pick<Resource['target'], 'onTypeConflict'> };
  readonly runId: string;
  readonly batchNo: number;
  /** Masks secrets in what is kept of a record. */
  readonly redact: (text: string) => string;
}

/**
 * Puts pages together. A record that comes twice is delivered once, in its last version; the earlier one counts as
 * skipped, because one statement cannot write a row twice and nobody would see it.
 */
export function assembleBatch(
  pages: readonly ReadyPage[],
  { resource, runId, batchNo, redact }: BatchOptions,
): PageBatch {
  const last = new Map<string, Outcome>();
  for (const page of pages) {
    for (const outcome of page.outcomes) if (outcome.kind === 'deliver') last.set(outcome.row.externalId, outcome);
  }
  const receiptOf = (rejected: readonly RejectedRow[]): Receipt => {
    const refusals = new Map(rejected.map((row) => [row.externalId, row]));
    const settled = pages.map((page) => settlePage(page, { last, refusals, resource, redact }));
    const records = new Map<string, RecordEntry>();
    for (const { entries } of settled) for (const entry of entries) records.set(entry.externalId, entry);
    return {
      runId,
      batchNo,
      pages: settled.map(({ page }) => page),
      records: [...records.values()],
      quarantine: settled.flatMap(({ quarantine }) => quarantine),
      position: pages.at(-1)?.positionAfter ?? null,
      watermark: pages.at(-1)?.watermarkAfter ?? null,
    };
  };
  const rows = [...last.values()].flatMap((outcome) => (outcome.kind === 'deliver' ? [outcome.row] : []));
  return { runId, batchNo, rows, receiptOf, receipt: (rejected) => encodeReceipt(receiptOf(rejected)) };
}

interface SettleOptions {
  /** The version of each record that is delivered. */
  readonly last: ReadonlyMap<string, Outcome>;
  readonly refusals: ReadonlyMap<string, RejectedRow>;
  readonly resource: BatchOptions['resource'];
  readonly redact: BatchOptions['redact'];
}

interface SettledPage {
  readonly page: PageEntry;
  readonly entries: readonly RecordEntry[];
  readonly quarantine: readonly QuarantineEntry[];
}

function settlePage(page: ReadyPage, { last, refusals, ...options }: SettleOptions): SettledPage {
  const entries: RecordEntry[] = [];
  const quarantine: QuarantineEntry[] = [];
  let recordsOut = 0;
  for (const outcome of page.outcomes) {
    if (outcome.kind === 'quarantine') {
      quarantine.push(outcome.row);
      if (outcome.entry) entries.push(outcome.entry);
      continue;
    }
    const { externalId } = outcome.row;
    if (last.get(externalId) !== outcome) continue;
    const refusal = refusals.get(externalId);
    if (!refusal) recordsOut += 1;
    else quarantine.push(refusedEntry(outcome, refusal, options));
    if (outcome.entry) entries.push(refusal ? { ...outcome.entry, status: 'quarantined' } : outcome.entry);
  }
  const { pageNo, requestKey, recordsIn } = page;
  const counts = { recordsIn, recordsOut, quarantined: quarantine.length };
  const skipped = recordsIn - recordsOut - quarantine.length;
  return { page: { pageNo, requestKey, ...counts, skipped }, entries, quarantine };
}

/** A record whose values do not fit the table is set aside, unless the target says that the run shall fail. */
function refusedEntry(
  { row, raw }: Extract<Outcome, { readonly kind: 'deliver' }>,
  { message }: RejectedRow,
  { resource, redact }: Pick<BatchOptions, 'resource' | 'redact'>,
): QuarantineEntry {
  const issues = [{ path: '', message, keyword: 'destination' }];
  if (resource.target.onTypeConflict === 'fail') throw invalidRecord(resource.key, issues, redact);
  return quarantineEntry({ externalId: row.externalId, raw }, issues, redact);
}

import type { Tombstone } from '../model/batch.ts';
import type { ListedDeletions, ListedEnd, PartitionEntry, PartitionProof } from '../model/receipt.ts';
import type { RecordPage } from '../model/record-page.ts';
import type { RunNote } from '../model/run-notes.ts';
import type { RunPosition } from '../model/run-position.ts';
import type { Scan } from '../model/scan.ts';
import type { GoneRecord } from './run-store.ts';

/** One page of a run: records for the pipeline, or tombstones, with nothing delivered yet. */
export interface RunPage extends RecordPage {
  readonly tombstones: readonly Tombstone[];
  readonly retried: readonly string[];
  /** The hash of the request, or the stage of a page without one. */
  readonly requestKey: string;
  /** Where the run continues once all pages up to this one are delivered, or `null` if it is complete. */
  readonly positionAfter: RunPosition | null;
  /** Progress of its partition by then, or `null` without a statement about one. */
  readonly partition: PartitionEntry | null;
  /** Proof for its partition by then, apart from the records of its pages, or `null` if nothing is proved yet. */
  readonly proof: PartitionProof | null;
  readonly scan: Scan | null;
  /** Deletions named on a page of a list of deleted records, `null` on other pages. */
  readonly listed: ListedDeletions | null;
  readonly listedEnd: ListedEnd | null;
  /** Something was omitted on purpose, so the run ends `partial`. */
  readonly incomplete: boolean;
  /** The read of a replaced table is complete and clean: the table may be switched. */
  readonly completesGeneration: boolean;
  readonly notes: readonly RunNote[];
}

/** The tombstone of a record that the API no longer has. */
export const tombstoneOf = ({ externalId, isUndelivered }: GoneRecord, effect: Tombstone['effect']): Tombstone => ({
  externalId,
  effect,
  ...(isUndelivered && { isUndelivered }),
});

/** A page of a stage, without records unless `parts` has some. */
export const stagePage = (stage: string, parts: Partial<RunPage> & Pick<RunPage, 'positionAfter'>): RunPage => ({
  records: [],
  each: {},
  origin: 'fetched',
  tombstones: [],
  retried: [],
  requestKey: stage,
  partition: null,
  proof: null,
  scan: null,
  listed: null,
  listedEnd: null,
  incomplete: false,
  completesGeneration: false,
  notes: [],
  ...parts,
});

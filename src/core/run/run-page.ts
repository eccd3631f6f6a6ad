import type { Tombstone } from '../model/batch.ts';
import type { ListedDeletions, ListedEnd, PartitionEntry, PartitionProof } from '../model/receipt.ts';
import type { RecordPage } from '../model/record-page.ts';
import type { RunNote } from '../model/run-notes.ts';
import type { RunPosition } from '../model/run-position.ts';
import type { Scan } from '../model/scan.ts';
import type { GoneRecord } from './run-store.ts';

/** One page of a run: records for the pipeline, or tombstones for deleted ones. Plain positions, nothing delivered. */
export interface RunPage extends RecordPage {
  readonly tombstones: readonly Tombstone[];
  /** Quarantine rows that its records come from; empty for fetched ones. */
  readonly retried: readonly string[];
  /** The hash of the request, or the stage of a page that needed none. */
  readonly requestKey: string;
  /** Where the run continues once it and all before are delivered; null: it is complete. */
  readonly positionAfter: RunPosition | null;
  /** The progress of its partition then; null: no statement about one. */
  readonly partition: PartitionEntry | null;
  /** What the run has proved of its partition then, the records of its pages apart; null: nothing yet. */
  readonly proof: PartitionProof | null;
  /** The comparison that is at its end then; null: none is. */
  readonly scan: Scan | null;
  /** What a list of deleted records names on it; null: it is of no list. */
  readonly listed: ListedDeletions | null;
  /** The end of the deletions that lists have named; null: it is not. */
  readonly listedEnd: ListedEnd | null;
  /** Something was omitted on purpose, so the run ends `partial`. */
  readonly incomplete: boolean;
  /** The read of a replaced table is complete and clean: the table may be switched. */
  readonly completesGeneration: boolean;
  readonly notes: readonly RunNote[];
}

/** The order to delete a record that the API no longer has. */
export const tombstoneOf = ({ externalId, isUndelivered }: GoneRecord, effect: Tombstone['effect']): Tombstone => ({
  externalId,
  effect,
  ...(isUndelivered && { isUndelivered }),
});

/** A page of a stage without records, unless `parts` has some. */
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

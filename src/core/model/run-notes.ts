import type { Gap } from './coverage.ts';

/** Something unusual on a page; the read continues. */
export type ReadNote =
  | 'order_broken'
  | 'page_repeated'
  | 'window_restarted'
  | 'window_split'
  | 'page_shrunk'
  | 'token_expired'
  | 'cursor_missing'
  /** The API's clock is minutes behind ours, so that the watermark stays as far behind. */
  | 'clock_apart'
  | 'position_discarded';

/** What a reader of a run should know of it besides its counts. */
export type RunNote =
  | ReadNote
  | Gap
  /** Everything was read again, as the API has forgotten what changed: what it deleted meanwhile is not known. */
  | 'deletes_unknown'
  /** Listed as deleted after they were read, or before that and created again: the next run reads them again and decides. */
  | 'deletes_pending'
  /** More records are missing, or named as deleted, than may be deleted at once. */
  | 'deletes_held_back'
  /** Records were skipped because a newer version of them is known. */
  | 'stale'
  /** Records that were delivered before no longer pass the filter, and the resource finds no deletes: their rows stay. */
  | 'left_filter'
  /** Records whose deletion the destination refused: they are deleted again when they are found again. */
  | 'delete_refused'
  /** Records of which the table has no row to update yet: the next run tries them again. */
  | 'row_missing'
  /** The primary key means something else than before: everything that was known is forgotten. */
  | 'started_over'
  /** The cursor, or what decides which records are read, means something else than before: they are read from the start. */
  | 'read_from_start'
  /** Records were delivered although a step failed for them; they are tried again. */
  | 'degraded';

/** How often each note applies: to pages, or to records where the note is about them. */
export type RunNotes = Readonly<Partial<Record<RunNote, number>>>;

/** No notes. */
export const noNotes: RunNotes = {};

/** Notes of several pages together. */
export function sumOfNotes(all: readonly RunNotes[]): RunNotes {
  const sum: Partial<Record<RunNote, number>> = {};
  for (const notes of all) {
    for (const name in notes) {
      const note = name as RunNote;
      sum[note] = (sum[note] ?? 0) + (notes[note] ?? 0);
    }
  }
  return sum;
}

/** Each note once. */
export const countedNotes = (notes: readonly RunNote[]): RunNotes =>
  notes.length === 0 ? noNotes : sumOfNotes(notes.map((note) => ({ [note]: 1 })));

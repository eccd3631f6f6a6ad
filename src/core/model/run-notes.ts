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
  /** The API's clock is minutes behind ours, and so is the watermark. */
  | 'clock_apart'
  | 'position_discarded';

/** Facts about a run that its counts do not show. */
export type RunNote =
  | ReadNote
  | Gap
  /** Everything was read again, as the API forgot what changed; deletions in between are unknown. */
  | 'deletes_unknown'
  /** Listed records were deleted after they were read, or before and created again: the next run reads them again and decides. */
  | 'deletes_pending'
  /** More records are missing, or listed as deleted, than may be deleted at once. */
  | 'deletes_held_back'
  /** Records were skipped because a newer version is known. */
  | 'stale'
  /** Delivered records no longer pass the filter, and the resource finds no deletes: their rows stay. */
  | 'left_filter'
  /** The destination refused to delete records; a later run that finds them deleted tries again. */
  | 'delete_refused'
  /** The table has no row to update yet; the next run tries the records again. */
  | 'row_missing'
  /** The primary key has another meaning, or too little was known of the records: everything known is forgotten. */
  | 'started_over'
  /** The cursor, or the selection of records, has another meaning: records are read from the start. */
  | 'read_from_start'
  /** Records were delivered although a step failed for them; they are tried again. */
  | 'degraded';

/** Number of pages with each note, or of records where the note is about them. */
export type RunNotes = Readonly<Partial<Record<RunNote, number>>>;

/** No notes. */
export const noNotes: RunNotes = {};

/** The sum of the notes of several pages. */
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

/** Counts each note once. */
export const countedNotes = (notes: readonly RunNote[]): RunNotes =>
  notes.length === 0 ? noNotes : sumOfNotes(notes.map((note) => ({ [note]: 1 })));

/**
 * Coverage of a part of the source by a read, which is whole unless a page shows a gap. Absence is concluded, and a
 * table switched, only where a read is whole.
 */

/** Why a read may not show everything in its part of the source. */
export type Gap =
  /** The API reported no change, or an earlier response is still valid: nothing was listed. */
  | 'not_modified'
  /** A response had no list, or a rule of the spec took it for an empty one. */
  | 'list_missing'
  /** A rule of the spec skipped the rest of a partition. */
  | 'partition_skipped'
  | 'list_moved'
  /** A page had fewer items than requested, and nothing else proves that it was the last. */
  | 'page_short'
  /** The read ended before the count that the API gave, or the count is unreliable. */
  | 'count_differs'
  | 'key_missing'
  | 'page_repeated'
  | 'parents_incomplete'
  | 'report_incomplete';

/** The distinct gaps of a read, in the order found; empty if it is whole. */
export type Gaps = readonly Gap[];

/** Decodes stored gaps: earlier versions stored only whether there was one, or nothing. */
export function gapsOf(stored: Gaps | boolean | undefined): Gaps {
  if (stored === false) return [];
  return stored === true || stored === undefined ? ['list_missing'] : stored;
}

/** The distinct gaps of two parts. */
export function withGaps(before: Gaps, more: Gaps): Gaps {
  const added = more.filter((gap) => !before.includes(gap));
  return added.length === 0 ? before : [...before, ...new Set(added)];
}

/** Gaps of a list in which the API has just sent everything it claims to have. */
const besideTheList: Gaps = ['page_short', 'key_missing', 'parents_incomplete'];

/** Whether a page is a list that the API has just sent; otherwise no watermark passes records that it may hide. */
export const isListed = (gaps: Gaps): boolean => gaps.every((gap) => besideTheList.includes(gap));

/** Whether a read has no gaps. */
export const isWhole = (gaps: Gaps): boolean => gaps.length === 0;

/**
 * Proof for a partition: `whole` if every record was read, `unchanged` if nothing was listed since nothing changed. A
 * `gap`, where something may be missing, outweighs any other proof of the run.
 */
export type Proof = 'whole' | 'unchanged' | 'gap';

/** The proof that follows from the gaps of a partition read to its end. */
export const proofOf = (gaps: Gaps): Proof =>
  gaps.length === 0 ? 'whole' : gaps.every(isHarmless) ? 'unchanged' : 'gap';

/** The gaps that may hide a deleted record; an unchanged list hides none. */
export const hidingGaps = (gaps: Gaps): Gaps => gaps.filter((gap) => !isHarmless(gap));

const isHarmless = (gap: Gap): boolean => gap === 'not_modified';

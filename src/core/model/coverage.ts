/**
 * What a read proves of its part of the source. It is whole unless a page gives a reason against that: a gap. Absence is
 * concluded, and a table switched, only where a read is whole.
 */

/** Why a read does not show everything that its part of the source has. */
export type Gap =
  /** The API responded that nothing has changed, or an earlier response is still valid: nothing was listed. */
  | 'not_modified'
  /** A response had no list, or a rule of the spec took it for an empty one. */
  | 'list_missing'
  /** A rule of the spec gave up the rest of a partition. */
  | 'partition_skipped'
  /** The list changed while its pages were read. */
  | 'list_moved'
  /** A page had fewer items than were asked for, and nothing else says that it was the last. */
  | 'page_short'
  /** The read ended before the count that the API gave, or the count is not to be trusted. */
  | 'count_differs'
  /** An entry had no readable key. */
  | 'key_missing'
  /** A page came again. */
  | 'page_repeated'
  /** The parents of the partitions are not all known. */
  | 'parents_incomplete'
  /** A report lacked its parts. */
  | 'report_incomplete';

/** The distinct gaps of a read, in the order in which they were found; empty: it is whole. */
export type Gaps = readonly Gap[];

/** Gaps as a position has stored them: an earlier version of the service knew only whether there was one, or not even that. */
export function gapsOf(stored: Gaps | boolean | undefined): Gaps {
  if (stored === false) return [];
  return stored === true || stored === undefined ? ['list_missing'] : stored;
}

/** The gaps of two parts together. */
export function withGaps(before: Gaps, more: Gaps): Gaps {
  const added = more.filter((gap) => !before.includes(gap));
  return added.length === 0 ? before : [...before, ...new Set(added)];
}

/** What a page lacks although the API has just listed everything that it says to be there. */
const besideTheList: Gaps = ['page_short', 'key_missing', 'parents_incomplete'];

/** Whether a page with these gaps is a list that the API has sent now: without one, no watermark passes what it may hide. */
export const isListed = (gaps: Gaps): boolean => gaps.every((gap) => besideTheList.includes(gap));

/** Whether nothing is missing. */
export const isWhole = (gaps: Gaps): boolean => gaps.length === 0;

/**
 * What a run has proved of a partition. `whole`: every record that it has was read. `unchanged`: nothing was listed, because
 * nothing has changed. `gap`: something may be missing, whatever else the run proves of it.
 */
export type Proof = 'whole' | 'unchanged' | 'gap';

/** What follows from the gaps of a partition that was read to its end. */
export const proofOf = (gaps: Gaps): Proof =>
  gaps.length === 0 ? 'whole' : gaps.every(isHarmless) ? 'unchanged' : 'gap';

/** The gaps that may hide a record that the API no longer has; a list that has not changed hides none. */
export const hidingGaps = (gaps: Gaps): Gaps => gaps.filter((gap) => !isHarmless(gap));

const isHarmless = (gap: Gap): boolean => gap === 'not_modified';

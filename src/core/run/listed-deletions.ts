/**
 * Decides the state of a deletion that a list names. It ends the version of a record that was known by then, and no later
 * one: a record that was created again under the same id lives, however long the list has the id.
 */
import type { CursorShape } from '../model/read-position.ts';
import type { DeletionState } from '../model/receipt.ts';
import { compareCursors, cursorOfText } from '../source/cursor/cursor-value.ts';
import { namesPartition } from '../spec/connection/deleted-list.ts';
import type { Resource } from '../spec/schema/spec-schema.ts';
import type { ListedRecord } from './run-store.ts';

/** The list of deleted records of a resource. */
export type DeletedList = Extract<Resource['deletes'], { readonly mode: 'endpoint' }>;

/** What the run has shown of the part of the resource that a list is of. */
export interface ListContext {
  /** How times are written; they are compared with the cursor of a record if the resource has one. */
  readonly form: CursorShape;
  /** The read has shown every record: one that it lacks is deleted. */
  readonly showsAll: boolean;
  readonly kind: 'full' | 'first' | 'changes' | 'backfill';
  /** The list was read before the records, too. */
  readonly isNamed: boolean;
  /** It was to be read before them, and could not be read whole. */
  readonly wasToBeNamed: boolean;
  /** Of a backfill: it reads on to the end. */
  readonly isOpen: boolean;
  /** The next run can read again what this one has read. */
  readonly readsAgain: boolean;
}

/** The state of a deletion from now on; null: nothing is to be noted of it. */
export function stateOf(record: ListedRecord, deletedAt: string | null, context: ListContext): DeletionState | null {
  const { mark, seen } = record;
  const { form, showsAll, kind, isNamed, wasToBeNamed, readsAgain, isOpen } = context;
  if (showsAll && seen !== 'now') return 'due';
  if (mark && !isLater(deletedAt, mark.deletedAt, form)) {
    if (mark.state === 'before') return mark.isSeen ? 'done' : 'due';
    if (mark.isOfThisRun) return null;
    return mark.state === 'done' || mark.isSeenSince ? 'done' : 'due';
  }
  const order = kind === 'full' ? null : compareTexts(deletedAt, record.cursor, form);
  if (order !== null) return order < 0 ? 'done' : 'due';
  // Above its end a backfill sees nothing.
  if (seen === 'before') return kind === 'backfill' && !isOpen ? null : 'due';
  // It was deleted after it was read, or before that and created again.
  switch (kind) {
    case 'full':
      return 'done';
    case 'backfill':
      return null;
    case 'first':
      if (isNamed) return 'due';
      return wasToBeNamed ? 'pending' : 'done';
    case 'changes':
      return readsAgain ? 'pending' : 'done';
  }
}

/** Whether a list names a deletion after the one that it named before. */
const isLater = (now: string | null, before: string | null, form: CursorShape): boolean =>
  now !== null && (before === null || (compareTexts(now, before, form) ?? 0) > 0);

function compareTexts(left: string | null, right: string | null, form: CursorShape): number | null {
  const [one, other] = [cursorOfText(left, form), cursorOfText(right, form)];
  return one === null || other === null ? null : compareCursors(one, other);
}

/** How the times of deletions are written: as the cursor, or else as ISO 8601. */
export const timesOf = ({ incremental }: Pick<Resource, 'incremental'>): CursorShape =>
  incremental?.kind === 'cursor' ? incremental.cursor : { type: 'datetime' };

/**
 * Whether a list is read before the records of a first read, too: the records do not tell whether they were deleted after
 * they were read or created again before.
 */
export const isNamedFirst = (resource: Pick<Resource, 'deletes' | 'incremental' | 'forEach'>): boolean => {
  const { deletes, incremental } = resource;
  if (deletes.mode !== 'endpoint' || incremental === undefined || isOfResource(resource)) return false;
  return deletes.at === undefined || incremental.kind !== 'cursor' || incremental.cursor.field === undefined;
};

/** Whether the list of a resource with partitions is of the whole resource: then it is read once, behind the last one. */
export const isOfResource = ({ deletes, forEach }: Pick<Resource, 'deletes' | 'forEach'>): boolean =>
  deletes.mode === 'endpoint' && forEach.length > 0 && !namesPartition(deletes);

/** Whether a list may end where it is known, by the watermark. */
export const mayStop = ({ stopWhen = '' }: DeletedList): boolean => /\bwatermark\b/.test(stopWhen);

/**
 * Decides the state of a deletion that a list names: it ends the version known by then, and no later one. A record
 * created again under the same id lives, however long the list keeps the id.
 */
import type { CursorShape } from '../model/read-position.ts';
import type { DeletionState } from '../model/receipt.ts';
import { compareCursors, cursorOfText } from '../source/cursor/cursor-value.ts';
import { namesPartition } from '../spec/connection/deleted-list.ts';
import type { Resource } from '../spec/schema/spec-schema.ts';
import type { ListedRecord } from './run-store.ts';

/** The list of deleted records of a resource. */
export type DeletedList = Extract<Resource['deletes'], { readonly mode: 'endpoint' }>;

/** Facts about the read of the part of the resource that a list covers. */
export interface ListContext {
  /** Format of deletion times, which are compared with the cursor if the resource has one. */
  readonly form: CursorShape;
  /** The read has shown every record: one that it lacks is deleted. */
  readonly showsAll: boolean;
  readonly kind: 'full' | 'first' | 'changes' | 'backfill';
  /** The list was also read before the records. */
  readonly isNamed: boolean;
  /** The list should have been read before the records, but could not be read whole. */
  readonly wasToBeNamed: boolean;
  /** A backfill that reads on to the end. */
  readonly isOpen: boolean;
  /** The next run can read the same records again. */
  readonly readsAgain: boolean;
}

/** The new state of a deletion, or `null` if nothing is noted. */
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
  // A backfill sees nothing above its end.
  if (seen === 'before') return kind === 'backfill' && !isOpen ? null : 'due';
  // Either it was deleted after it was read, or it was deleted before and created again.
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

const isLater = (now: string | null, before: string | null, form: CursorShape): boolean =>
  now !== null && (before === null || (compareTexts(now, before, form) ?? 0) > 0);

function compareTexts(left: string | null, right: string | null, form: CursorShape): number | null {
  const [one, other] = [cursorOfText(left, form), cursorOfText(right, form)];
  return one === null || other === null ? null : compareCursors(one, other);
}

/** Format of deletion times: that of the cursor, or else ISO 8601. */
export const timesOf = ({ incremental }: Pick<Resource, 'incremental'>): CursorShape =>
  incremental?.kind === 'cursor' ? incremental.cursor : { type: 'datetime' };

/**
 * Whether the list is also read before the records of a first read. Its entries have no comparable time, so a deletion
 * after the read looks like one before, followed by a new creation.
 */
export const isNamedFirst = (resource: Pick<Resource, 'deletes' | 'incremental' | 'forEach'>): boolean => {
  const { deletes, incremental } = resource;
  if (deletes.mode !== 'endpoint' || incremental === undefined || isOfResource(resource)) return false;
  return deletes.at === undefined || incremental.kind !== 'cursor' || incremental.cursor.field === undefined;
};

/** Whether one list covers all partitions of the resource, and is thus read once, after the last one. */
export const isOfResource = ({ deletes, forEach }: Pick<Resource, 'deletes' | 'forEach'>): boolean =>
  deletes.mode === 'endpoint' && forEach.length > 0 && !namesPartition(deletes);

/** Whether a read of the list may end at the watermark, where it is already known. */
export const mayStop = ({ stopWhen = '' }: DeletedList): boolean => /\bwatermark\b/.test(stopWhen);

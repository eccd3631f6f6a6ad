import { expect, test } from 'vitest';
import type { CursorShape } from '../model/read-position.ts';
import { type ListContext, stateOf } from './listed-deletions.ts';
import type { ListedRecord } from './run-store.ts';

const day = (no: number): string => new Date(Date.UTC(2025, 0, no)).toISOString();

const context: ListContext = {
  ...{ form: { type: 'datetime' } satisfies CursorShape, showsAll: false },
  ...{ kind: 'changes', isNamed: false, wasToBeNamed: false, readsAgain: true, isOpen: false },
};

const record: ListedRecord = { externalId: 'a', isUndelivered: false, cursor: day(5), seen: 'before', mark: null };

const mark = (parts: Partial<NonNullable<ListedRecord['mark']>>): ListedRecord['mark'] => ({
  ...{ state: 'done', deletedAt: null, isOfThisRun: false, isSeen: false, isSeenSince: false },
  ...parts,
});

interface Case {
  readonly name: string;
  readonly record?: Partial<ListedRecord>;
  readonly at?: string;
  readonly context?: Partial<ListContext>;
  readonly state: ReturnType<typeof stateOf>;
}

const cases: readonly Case[] = [
  { name: 'of a record that was not read since', state: 'due' },
  { name: 'before the known version', at: day(4), state: 'done' },
  { name: 'of the same time as the known version', at: day(5), state: 'due' },
  { name: 'after the known version', at: day(6), record: { seen: 'now' }, state: 'due' },
  {
    name: 'after the known version that was applied before',
    at: day(6),
    record: { mark: mark({ deletedAt: day(6) }) },
    state: 'done',
  },
  {
    name: 'after the one that was applied before',
    at: day(7),
    record: { mark: mark({ deletedAt: day(6) }) },
    state: 'due',
  },
  { name: 'of a record that this run has read', record: { seen: 'now' }, state: 'pending' },
  { name: 'of a record that a run has read that failed before the list', record: { seen: 'since' }, state: 'pending' },
  {
    name: 'that was pending, and the record was read again',
    record: { seen: 'now', mark: mark({ state: 'pending', isSeen: true, isSeenSince: true }) },
    state: 'done',
  },
  {
    name: 'that was pending, and the record was not read again',
    record: { mark: mark({ state: 'pending', isSeen: true }) },
    state: 'due',
  },
  {
    name: 'that the list has twice',
    record: { seen: 'now', mark: mark({ state: 'pending', isSeen: true, isOfThisRun: true }) },
    state: null,
  },
  {
    name: 'that was held back, and the record was read since',
    record: { seen: 'now', mark: mark({ state: 'due', isSeen: true, isSeenSince: true }) },
    state: 'done',
  },
  { name: 'that was held back', record: { mark: mark({ state: 'due' }) }, state: 'due' },
  {
    name: 'from before a first read that shows the record',
    record: { seen: 'now', mark: mark({ state: 'before', isOfThisRun: true, isSeen: true }) },
    context: { kind: 'first', isNamed: true },
    state: 'done',
  },
  {
    name: 'from within a first read',
    record: { seen: 'now' },
    context: { kind: 'first', isNamed: true },
    state: 'due',
  },
  { name: 'where a first read has no list before', record: { seen: 'now' }, context: { kind: 'first' }, state: 'done' },
  {
    name: 'in a backfill of a record that it has read',
    record: { seen: 'now' },
    context: { kind: 'backfill' },
    state: null,
  },
  { name: 'of a record that a full read shows', record: { seen: 'now' }, context: { kind: 'full' }, state: 'done' },
  {
    name: 'that was applied before, of a record that a whole full read lacks',
    record: { mark: mark({}) },
    context: { kind: 'full', showsAll: true },
    state: 'due',
  },
];

test.each(cases)('a deletion $name: $state', ({ record: parts, at = null, context: how, state }) => {
  expect(stateOf({ ...record, ...parts }, at, { ...context, ...how })).toBe(state);
});

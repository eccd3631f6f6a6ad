import { describe, expect, test } from 'vitest';
import type { CursorPlan, PagePosition, ReadPlan, ReadPosition } from '../../model/read-position.ts';
import { plainCursorPlan } from '../cursor/cursor-plan-fixture.ts';
import { parseCursor } from '../cursor/cursor-value.ts';
import { noPages } from './page-guard.ts';
import { advance, firstPosition, isApart, type Step } from './read-window.ts';
import { splitWindow } from './window-bounds.ts';

const dayMs = 86_400_000;
const now = new Date('2026-01-31T00:00:00.000Z');
const firstPage: PagePosition = { index: 1, number: 1, offset: 0, cursor: null, url: null };

function planOf(cursor: Partial<CursorPlan>, overrides: Partial<ReadPlan> = {}): ReadPlan {
  const base = {
    fingerprint: 'f1',
    kind: 'cursor' as const,
    watermarkBefore: null,
    start: null,
    sentWatermark: null,
    readAt: null,
  };
  return {
    ...base,
    backfill: false,
    isOpen: false,
    startsOver: false,
    cursor: { ...plainCursorPlan, ...cursor },
    firstPage,
    ...overrides,
  };
}

/** A page with records of these times; `more`: the API has another page in this window. */
function read(
  plan: ReadPlan,
  position: ReadPosition | null,
  page: { readonly times?: readonly string[]; readonly more?: boolean; readonly serverDate?: string },
): Step {
  if (position === null) throw new Error('the read was expected to go on');
  const form = plan.cursor?.form ?? { type: 'datetime' };
  const cursors = (page.times ?? []).map((time) => parseCursor(time, form)).filter((value) => value !== null);
  const next = page.more ? { ...position.page, index: position.page.index + 1, cursor: 't' } : null;
  const serverDate = page.serverDate === undefined ? null : new Date(page.serverDate);
  const facts = { cursors, next, guard: noPages, serverDate, token: null, rises: false, isUnlisted: false };
  return advance(plan, position, facts);
}

describe('a first read without a lower bound', () => {
  const page = { times: ['2026-01-02T00:00:00Z'], more: true };

  test('claims at its end only, as records without a time may come last', () => {
    const plan = planOf({});
    const one = read(plan, firstPosition(plan, now), page);
    expect(one.watermark).toBeNull();
    expect(read(plan, one.position, {}).watermark).toBe('2026-01-02T00:00:00.000Z');
  });

  test.each([
    ['where such records are left out', planOf({ missing: 'exclude' })],
    ['where such records fail the run', planOf({ missing: 'fail' })],
    ['where each run reads the whole list', planOf({ clientFilter: true })],
    ['from a start on, whose request no such record matches', planOf({}, { start: '2026-01-01T00:00:00.000Z' })],
  ])('claims with each page %s', (_, plan) => {
    expect(read(plan, firstPosition(plan, now), page).watermark).toBe('2026-01-02T00:00:00.000Z');
  });
});

test('a plan whose pages tell nothing of those before claims at the end of a window', () => {
  const plan = planOf({ missing: 'exclude', claimsAtEnd: true });
  const one = read(plan, firstPosition(plan, now), { times: ['2026-01-02T00:00:00Z'], more: true });
  expect(one.watermark).toBeNull();
  expect(read(plan, one.position, { times: ['2026-01-03T00:00:00Z'] }).watermark).toBe('2026-01-03T00:00:00.000Z');
});

describe('the clock of the API', () => {
  const before = '2026-01-01T00:00:00.000Z';
  const plan = planOf({}, { watermarkBefore: before });
  const serverDate = '2026-01-30T22:00:00Z';
  const ahead = '2026-03-01T00:00:00Z';

  test('holds the watermark back while no record is later', () => {
    const times = ['2026-01-30T22:04:00Z', ahead];
    expect(read(plan, firstPosition(plan, now), { times, serverDate }).watermark).toBe('2026-01-30T22:00:00.000Z');
  });

  test('does not where a record is minutes later than it and not in the future: it makes no times of records', () => {
    const times = ['2026-01-30T22:06:00Z'];
    expect(read(plan, firstPosition(plan, now), { times, serverDate }).watermark).toBe('2026-01-30T22:06:00.000Z');
    const one = read(plan, firstPosition(plan, now), { serverDate, more: true });
    expect(read(plan, one.position, { times: [...times, ahead] }).watermark).toBe(now.toISOString());
  });

  test('is noted where it is more than five minutes behind', () => {
    const position = firstPosition(plan, now);
    const at = (ms: number) => ({ serverDate: new Date(now.getTime() + ms), now });
    expect(isApart(plan, position, at(-300_001))).toBe(true);
    expect(isApart(plan, position, at(-300_000))).toBe(false);
    expect(isApart(plan, position, at(dayMs))).toBe(false);
    expect(isApart(plan, { ...position, clockChecked: true }, at(-dayMs))).toBe(false);
    expect(isApart(planOf({ form: { type: 'integer' } }), position, at(-dayMs))).toBe(false);
  });
});

test('an integer cursor looks back by a number', () => {
  const plan = planOf({ form: { type: 'integer' }, lookbackUnits: 5 }, { watermarkBefore: '41' });
  expect(firstPosition(plan, now)).toMatchObject({ from: '36', claim: '41' });
});

describe('the overlap of windows', () => {
  const start = '2026-01-01T00:00:00.000Z';
  const window = { sizeMs: 10 * dayMs, overlapMs: 3_600_000 };
  const plan = planOf({ window, order: 'none', resultCap: { records: 10, onReached: 'split' } }, { start });
  const { cursor } = plan;

  function split(position: ReadPosition, until: string): ReadPosition {
    if (cursor === null) throw new Error('the plan has a cursor');
    return position.to !== null && position.to > until ? split(splitWindow(position, cursor, 100), until) : position;
  }

  test('stays what is declared where a window is split to less than that', () => {
    const one = split(firstPosition(plan, now), '2026-01-01T02:00:00.000Z');
    const two = split(read(plan, one, {}).position ?? one, '2026-01-01T02:30:00.000Z');
    const three = read(plan, two, {}).position ?? two;
    for (const [before, after] of [
      [one, two],
      [two, three],
    ] as const) {
      expect(Date.parse(before.to ?? '') - Date.parse(after.from ?? '')).toBe(window.overlapMs);
      expect(Date.parse(after.to ?? '')).toBeGreaterThan(Date.parse(before.to ?? ''));
    }
  });

  test('never reaches before the start of the read, and every window gets further', () => {
    let position: ReadPosition | null = split(firstPosition(plan, now), '2026-01-01T00:30:00.000Z');
    const bounds: (readonly [string | null, string | null])[] = [];
    while (position) {
      bounds.push([position.from, position.to]);
      ({ position } = read(plan, position, {}));
    }
    expect(bounds.every(([from]) => from !== null && from >= start)).toBe(true);
    const ends = bounds.map(([, to]) => Date.parse(to ?? ''));
    expect(ends).toEqual([...new Set(ends)].toSorted((a, b) => a - b));
    expect(bounds.at(-1)?.[1]).toBe(now.toISOString());
  });

  test('that alone holds more than the API returns fails the read', () => {
    const one = split(firstPosition(plan, now), '2026-01-01T02:00:00.000Z');
    const two = read(plan, one, {}).position;
    expect(() => two && split(two, '2026-01-01T01:00:00.000Z')).toThrow('Use a smaller window.overlap');
  });
});

describe('an integer cursor in no order', () => {
  const integers = (cursor: Partial<CursorPlan> = {}) =>
    planOf({ form: { type: 'integer' }, order: 'none', ...cursor });
  const claimOf = (plan: ReadPlan, ...pages: readonly (readonly string[])[]) =>
    pages.reduce<Pick<Step, 'position' | 'watermark'>>(
      ({ position }, times, no) => read(plan, position, { times, more: no < pages.length - 1 }),
      { position: firstPosition(plan, now), watermark: null },
    ).watermark;

  test('claims no more than its first page has: a record on a page already read may have changed since', () => {
    expect(claimOf(integers(), ['1', '2'], ['3', '7'])).toBe('2');
    expect(claimOf(integers({ order: 'asc' }), ['4', '2'], ['3', '7'])).toBe('4');
  });

  test('claims its greatest value where it is one page, where the order is proved, or with a lookback', () => {
    expect(claimOf(integers(), ['3', '7', '1'])).toBe('7');
    expect(claimOf(integers({ order: 'asc' }), ['1', '2'], ['3', '7'])).toBe('7');
    expect(claimOf(integers({ lookbackUnits: 10 }), ['1', '2'], ['3', '7'])).toBe('7');
  });
});

import { describe, expect, test } from 'vitest';
import { plainCursorPlan } from '../source/cursor-plan-fixture.ts';
import { noPages } from '../source/page-guard.ts';
import type { ReadPlan, ReadPosition } from '../source/read-position.ts';
import { advance, firstPosition } from '../source/read-window.ts';
import { advanceWatermark, continuesAscending, greatestCursor } from './watermark.ts';

const reached = { maxSeen: null, windowEnd: null, cap: null };

describe('the watermark is a claim', () => {
  test('it is the greatest value seen', () => {
    expect(advanceWatermark(5n, { ...reached, maxSeen: 9n })).toBe(9n);
  });

  test('a read that saw nothing keeps it', () => {
    expect(advanceWatermark(5n, { ...reached, cap: 100n })).toBe(5n);
    expect(advanceWatermark(null, { ...reached, cap: 100n })).toBeNull();
  });

  test('a record of the future cannot pass run start less settle', () => {
    expect(advanceWatermark(5n, { ...reached, maxSeen: 1000n, cap: 70n })).toBe(70n);
  });

  test('it never goes back, neither for lower values nor for a lower cap', () => {
    expect(advanceWatermark(50n, { ...reached, maxSeen: 9n })).toBe(50n);
    expect(advanceWatermark(50n, { ...reached, maxSeen: 60n, cap: 40n })).toBe(50n);
  });

  test('a window that was read completely carries it to its end, still capped', () => {
    expect(advanceWatermark(5n, { maxSeen: 9n, windowEnd: 30n, cap: 100n })).toBe(30n);
    expect(advanceWatermark(5n, { maxSeen: null, windowEnd: 30n, cap: 20n })).toBe(20n);
  });
});

describe('an ascending order is verified', () => {
  test.each([
    ['equal values rise', [1n, 2n, 2n], 1n, true],
    ['a value below the one before it does not', [1n, 3n, 2n], null, false],
    ['a page that begins below the last page does not', [4n, 5n], 5n, false],
    ['an empty page rises', [], 5n, true],
    ['a page may begin with the last value', [5n], 5n, true],
  ])('%s', (_title, values, last, rises) => {
    expect(continuesAscending(values, last, { overlap: false })).toBe(rises);
  });

  test('a page that repeats the last records on purpose only has to reach as far', () => {
    expect(continuesAscending([4n, 5n, 6n], 5n, { overlap: true })).toBe(true);
    expect(continuesAscending([3n, 4n], 5n, { overlap: true })).toBe(false);
  });

  test('the greatest of a page is compared by value', () => {
    expect(greatestCursor([9n, 10n, 2n])).toBe(10n);
    expect(greatestCursor([])).toBeNull();
  });
});

/*
 * The model of the rule's evidence: 300 records, an hour of writes at 0.5/s, a sync every 300 s, pages of 20 at 0.37 s,
 * cursor values of one second, writes go on during syncs, then five quiet runs; the destination is keyed by id.
 */
describe('nothing is lost by the watermark', () => {
  const seeds = Array.from({ length: 20 }, (_, seed) => seed + 1);
  const lost = (model: Model) => seeds.reduce((sum, seed) => sum + simulate(seed, model), 0);

  test('case 1: not even with records that become visible up to 8 s late, if settle is above that', () => {
    expect(lost({ lagMsMax: 8000, settleMs: 10_000, clockAheadMs: 0 })).toBe(0);
  });

  test('not even when our clock is 5 s ahead of the API', () => {
    expect(lost({ lagMsMax: 8000, settleMs: 10_000, clockAheadMs: 5000 })).toBe(0);
  });

  test('without lag settle is not needed', () => {
    expect(lost({ lagMsMax: 0, settleMs: 0, clockAheadMs: 0 })).toBe(0);
  });

  test('the model can lose: with lag and no settle it does', () => {
    expect(lost({ lagMsMax: 8000, settleMs: 0, clockAheadMs: 0 })).toBeGreaterThan(0);
  });
});

interface Model {
  readonly lagMsMax: number;
  readonly settleMs: number;
  readonly clockAheadMs: number;
}

interface Write {
  readonly id: number;
  readonly version: number;
  readonly cursorMs: number;
  readonly visibleAt: number;
}

/** The number of records whose last version never arrived. */
function simulate(seed: number, model: Model): number {
  const writes = writesOf(seed, model.lagMsMax);
  const delivered = new Map<number, number>();
  let watermark: string | null = null;
  for (let run = 1; run <= 17; run += 1) {
    const plan = planOf(watermark, model.settleMs);
    let now = start + run * 300_000;
    let position: ReadPosition | null = firstPosition(plan, new Date(now + model.clockAheadMs));
    while (position !== null) {
      now += 370;
      const at: ReadPosition = position;
      const rows = visibleRows(writes, now).filter((row) => isAfter(row, at));
      const page = rows.slice(0, 20);
      for (const row of page) delivered.set(row.id, row.version);
      const last = page.at(-1);
      const next =
        rows.length > 20 && last
          ? { ...at.page, index: at.page.index + 1, cursor: `${last.cursorMs}/${last.id}` }
          : null;
      const cursors = page.map((row) => BigInt(row.cursorMs));
      const step = advance(plan, position, { cursors, next, guard: noPages, serverDate: new Date(now), token: null });
      watermark = step.watermark;
      position = step.position;
    }
  }
  const final = visibleRows(writes, Number.POSITIVE_INFINITY);
  return final.filter((row) => delivered.get(row.id) !== row.version).length;
}

const start = Date.UTC(2026, 0, 1);

const planOf = (watermarkBefore: string | null, settleMs: number): ReadPlan => ({
  fingerprint: 'model',
  kind: 'cursor',
  cursor: { ...plainCursorPlan, settleMs },
  watermarkBefore,
  start: null,
  backfill: false,
  firstPage: { index: 1, number: 1, offset: 0, cursor: null, url: null },
});

function writesOf(seed: number, lagMsMax: number): readonly Write[] {
  const random = randomFrom(seed);
  const versions = new Map<number, number>();
  const write = (id: number, at: number): Write => {
    const version = (versions.get(id) ?? 0) + 1;
    versions.set(id, version);
    return { id, version, cursorMs: Math.floor(at / 1000) * 1000, visibleAt: at + random() * lagMsMax };
  };
  const initial = Array.from({ length: 300 }, (_, id) => write(id, start - 60_000 - id * 1000));
  const later = Array.from({ length: 1800 }, (_, tick) => write(Math.floor(random() * 300), start + tick * 2000));
  return [...initial, ...later];
}

/** The newest visible version of each record, in the API's order. */
function visibleRows(writes: readonly Write[], now: number): readonly Write[] {
  const rows = new Map<number, Write>();
  for (const write of writes) if (write.visibleAt <= now) rows.set(write.id, write);
  return [...rows.values()].toSorted((left, right) => left.cursorMs - right.cursorMs || left.id - right.id);
}

function isAfter(row: Write, position: ReadPosition): boolean {
  if (position.page.cursor === null) return position.from === null || row.cursorMs >= Date.parse(position.from);
  const [cursorMs = 0, id = 0] = String(position.page.cursor).split('/').map(Number);
  return row.cursorMs > cursorMs || (row.cursorMs === cursorMs && row.id > id);
}

/** mulberry32. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

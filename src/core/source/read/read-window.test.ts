import { describe, expect, test } from 'vitest';
import type { CursorPlan, PagePosition, ReadPlan, ReadPosition } from '../../model/read-position.ts';
import { plainCursorPlan } from '../cursor/cursor-plan-fixture.ts';
import { parseCursor } from '../cursor/cursor-value.ts';
import { noPages } from './page-guard.ts';
import { advance, firstPosition, restartWindow, resumePosition, type Step } from './read-window.ts';
import { splitWindow } from './window-bounds.ts';

const dayMs = 86_400_000;
const now = new Date('2026-01-31T00:00:00.000Z');
const firstPage: PagePosition = { index: 1, number: 1, offset: 0, cursor: null, url: null };

const settings: CursorPlan = { ...plainCursorPlan, settleMs: 30_000 };

function planOf(cursor: Partial<CursorPlan>, overrides: Partial<ReadPlan> = {}): ReadPlan {
  const base = {
    fingerprint: 'f1',
    kind: 'cursor' as const,
    watermarkBefore: null,
    start: null,
    ...{ sentWatermark: null, readAt: null },
    backfill: false,
    isOpen: false,
    startsOver: false,
  };
  return { ...base, cursor: { ...settings, ...cursor }, firstPage, ...overrides };
}

/** A page with records of these times; `more`: the API has another page in this window. */
function read(
  plan: ReadPlan,
  position: ReadPosition,
  page: {
    readonly times?: readonly string[];
    readonly more?: boolean;
    readonly serverDate?: string;
    readonly unlisted?: boolean;
  },
): Step {
  const form = plan.cursor?.form ?? { type: 'datetime' };
  const cursors = (page.times ?? []).map((time) => parseCursor(time, form)).filter((value) => value !== null);
  const next = page.more ? { ...position.page, index: position.page.index + 1, cursor: 't' } : null;
  const serverDate = page.serverDate === undefined ? null : new Date(page.serverDate);
  return advance(plan, position, {
    cursors,
    next,
    guard: noPages,
    serverDate,
    token: null,
    rises: false,
    isUnlisted: page.unlisted ?? false,
  });
}

function positionOf(step: Step): ReadPosition {
  if (step.position === null) throw new Error('the read was expected to go on');
  return step.position;
}

describe('where a read begins', () => {
  test('the first read begins at initial, or at the begin of time without one', () => {
    const start = '2020-01-01T00:00:00.000Z';
    expect(firstPosition(planOf({}, { start }), now)).toMatchObject({ from: start, to: now.toISOString() });
    expect(firstPosition(planOf({}), now)).toMatchObject({ from: null, claim: null });
  });

  test('later reads begin at the watermark less the lookback', () => {
    const plan = planOf({ lookbackMs: 600_000 }, { watermarkBefore: '2026-01-30T00:10:00.000Z' });
    expect(firstPosition(plan, now)).toMatchObject({ from: '2026-01-30T00:00:00.000Z' });
  });

  test('a lookback that reaches behind the first instant begins at the first instant', () => {
    const form = { type: 'epoch_ms' } as const;
    const plan = planOf({ form, lookbackMs: 10 * dayMs }, { watermarkBefore: '-271821-04-25T00:00:00.000Z' });
    expect(firstPosition(plan, now)).toMatchObject({ from: '-271821-04-20T00:00:00.000Z', to: now.toISOString() });
  });

  test('a watermark ahead of our clock still gives a window that is not reversed', () => {
    const plan = planOf({}, { watermarkBefore: '2026-02-01T00:00:00.000Z' });
    const { from, to } = firstPosition(plan, now);
    expect(to).toBe(from);
  });

  test('a backfill reads up to what had not settled above the watermark, and leaves it as it is', () => {
    const watermarkBefore = '2026-01-10T00:00:00.000Z';
    const plan = planOf({ settleMs: 30_000 }, { backfill: true, watermarkBefore, start: '2025-01-01T00:00:00.000Z' });
    const position = firstPosition(plan, now);
    expect(position).toMatchObject({ from: '2025-01-01T00:00:00.000Z', to: '2026-01-10T00:00:30.000Z' });
    const page = read(plan, position, { times: ['2025-03-01T00:00:00Z'], more: true });
    expect(page.watermark).toBe(watermarkBefore);
    expect(read(plan, positionOf(page), {})).toMatchObject({ watermark: watermarkBefore, position: null });
  });

  test('integer cursors have neither an end nor a cap', () => {
    const plan = planOf({ form: { type: 'integer' }, settleMs: 0 }, { watermarkBefore: '41' });
    const position = firstPosition(plan, now);
    expect(position).toMatchObject({ from: '41', to: null });
    const step = advance(plan, position, {
      cursors: [42n, 1000n],
      next: null,
      guard: noPages,
      serverDate: null,
      token: null,
      rises: false,
      isUnlisted: false,
    });
    expect(step).toMatchObject({ position: null, watermark: '1000' });
  });

  test('a watermark older than the memory of the API fails loudly, or leads to a full read', () => {
    const watermarkBefore = '2025-12-01T00:00:00.000Z';
    const fail = planOf({ retention: { maxAgeMs: 30 * dayMs, onExceeded: 'fail' } }, { watermarkBefore });
    expect(() => firstPosition(fail, now)).toThrow('older than the 30 days for which the API keeps changes');
    const full = planOf({ retention: { maxAgeMs: 30 * dayMs, onExceeded: 'full' } }, { watermarkBefore });
    expect(firstPosition(full, now)).toMatchObject({ from: null, claim: watermarkBefore });
  });
});

describe('when the watermark is committed', () => {
  const plan = planOf({}, { watermarkBefore: '2026-01-01T00:00:00.000Z' });

  test('in ascending order, the watermark is committed after each page', () => {
    const one = read(plan, firstPosition(plan, now), {
      times: ['2026-01-02T00:00:00Z', '2026-01-03T00:00:00Z'],
      more: true,
    });
    expect(one.watermark).toBe('2026-01-03T00:00:00.000Z');
    const two = read(plan, positionOf(one), { times: ['2026-01-03T00:00:00Z', '2026-01-05T00:00:00Z'] });
    expect(two).toMatchObject({ watermark: '2026-01-05T00:00:00.000Z', position: null, orderBroken: false });
  });

  test.each(['desc', 'none'] as const)('%s: only when the window is complete', (order) => {
    const unordered = planOf({ order }, { watermarkBefore: plan.watermarkBefore });
    const one = read(unordered, firstPosition(unordered, now), { times: ['2026-01-09T00:00:00Z'], more: true });
    expect(one.watermark).toBe('2026-01-01T00:00:00.000Z');
    const two = read(unordered, positionOf(one), { times: ['2026-01-04T00:00:00Z'] });
    expect(two.watermark).toBe('2026-01-09T00:00:00.000Z');
  });

  test('a broken order is reported once, takes back the claim, and commits at the end', () => {
    const one = read(plan, firstPosition(plan, now), { times: ['2026-01-10T00:00:00Z'], more: true });
    expect(one.watermark).toBe('2026-01-10T00:00:00.000Z');
    const two = read(plan, positionOf(one), { times: ['2026-01-05T00:00:00Z'], more: true });
    expect(two).toMatchObject({ watermark: plan.watermarkBefore, orderBroken: true });
    const three = read(plan, positionOf(two), { times: ['2026-01-04T00:00:00Z'], more: true });
    expect(three).toMatchObject({ watermark: plan.watermarkBefore, orderBroken: false });
    const last = read(plan, positionOf(three), { times: ['2026-01-07T00:00:00Z'] });
    expect(last).toMatchObject({ watermark: '2026-01-10T00:00:00.000Z', position: null });
  });

  test('a read that saw nothing keeps the watermark', () => {
    expect(read(plan, firstPosition(plan, now), {}).watermark).toBe(plan.watermarkBefore);
  });

  test('a record dated next month is capped at run start less settle', () => {
    const step = read(plan, firstPosition(plan, now), { times: ['2026-01-05T00:00:00Z', '2026-03-01T00:00:00Z'] });
    expect(step.watermark).toBe('2026-01-30T23:59:30.000Z');
  });

  test('the cap follows the clock of the API when ours is ahead, and ours when it is behind', () => {
    const times = ['2026-03-01T00:00:00Z'];
    const ahead = read(plan, firstPosition(plan, now), { times, serverDate: '2026-01-30T23:00:00Z' });
    expect(ahead.watermark).toBe('2026-01-30T22:59:30.000Z');
    const behind = read(plan, firstPosition(plan, now), { times, serverDate: '2026-01-31T01:00:00Z' });
    expect(behind.watermark).toBe('2026-01-30T23:59:30.000Z');
  });

  test('only the first response corrects the clock', () => {
    const one = read(plan, firstPosition(plan, now), { more: true, serverDate: '2026-01-31T00:00:01Z' });
    const two = read(plan, positionOf(one), { times: ['2026-03-01T00:00:00Z'], serverDate: '2026-01-01T00:00:00Z' });
    expect(two.watermark).toBe('2026-01-30T23:59:30.000Z');
  });
});

describe('windows', () => {
  const start = '2026-01-01T00:00:00.000Z';
  const window = { sizeMs: 10 * dayMs, overlapMs: 0 };

  test('run in order up to run start; each complete one carries the watermark to its end', () => {
    const plan = planOf({ window, order: 'desc' }, { start });
    let position: ReadPosition | null = firstPosition(plan, now);
    const seen: unknown[] = [];
    while (position !== null) {
      const step = read(plan, position, {});
      seen.push([position.from, position.to, step.watermark]);
      ({ position } = step);
    }
    const at = (day: string) => `2026-01-${day}T00:00:00.000Z`;
    expect(seen).toEqual([
      [at('01'), at('11'), at('11')],
      [at('11'), at('21'), at('21')],
      [at('21'), at('31'), '2026-01-30T23:59:30.000Z'],
    ]);
  });

  test('each begins on the first page and may overlap the one before', () => {
    const plan = planOf({ window: { ...window, overlapMs: 3_600_000 } }, { start });
    const one = read(plan, firstPosition(plan, now), { more: true });
    expect(positionOf(one)).toMatchObject({ windowNo: 1, page: { index: 2 } });
    expect(positionOf(read(plan, positionOf(one), {}))).toMatchObject({
      windowNo: 2,
      page: firstPage,
      from: '2026-01-10T23:00:00.000Z',
    });
  });

  test('a record beyond the window does not carry the watermark beyond it', () => {
    const plan = planOf({ window }, { start });
    const step = read(plan, firstPosition(plan, now), { times: ['2026-01-20T00:00:00Z'], more: true });
    expect(step.watermark).toBe('2026-01-11T00:00:00.000Z');
  });

  test('without a cursor in the records the watermark is the end of the window less settle', () => {
    const plan = planOf({ window, field: null, order: 'none' }, { start });
    const one = read(plan, firstPosition(plan, now), {});
    expect(one.watermark).toBe('2026-01-10T23:59:30.000Z');
    const two = read(plan, positionOf(one), {});
    const three = read(plan, positionOf(two), {});
    expect(three).toMatchObject({ watermark: '2026-01-30T23:59:30.000Z', position: null });
  });

  test('one with more records than the API gives is halved and grows back', () => {
    const plan = planOf({ window, resultCap: { records: 10_000, onReached: 'split' } }, { start });
    const cursor = plan.cursor ?? settings;
    const half = splitWindow(firstPosition(plan, now), cursor, 20_000);
    expect(half).toMatchObject({ from: start, to: '2026-01-06T00:00:00.000Z' });
    const quarter = splitWindow(half, cursor, 15_000);
    expect(quarter.to).toBe('2026-01-03T12:00:00.000Z');
    const next = positionOf(read(plan, quarter, {}));
    expect(next).toMatchObject({ from: quarter.to, to: '2026-01-08T12:00:00.000Z' });
  });

  test('one of a second cannot be halved, and one that must not be is not', () => {
    const plan = planOf(
      { window: { sizeMs: 1000, overlapMs: 0 }, resultCap: { records: 1, onReached: 'split' } },
      { start },
    );
    expect(() => splitWindow(firstPosition(plan, now), plan.cursor ?? settings, 5)).toThrow('cannot be split further');
    const fixed = { ...settings, window, resultCap: { records: 1, onReached: 'fail' as const } };
    expect(() => splitWindow(firstPosition(plan, now), fixed, 5)).toThrow('Use a smaller window');
  });
});

describe('a position', () => {
  const plan = planOf({}, { watermarkBefore: '2026-01-01T00:00:00.000Z' });

  test('survives JSON and is continued under the same plan', () => {
    const one = read(plan, firstPosition(plan, now), { times: ['2026-01-10T00:00:00Z'], more: true });
    const stored = JSON.parse(JSON.stringify(one.position)) as ReadPosition;
    expect(resumePosition(plan, stored, new Date('2026-02-01T00:00:00Z'))).toEqual(one.position);
  });

  test('of another plan is discarded, because its token belongs to another question', () => {
    const one = read(plan, firstPosition(plan, now), { more: true });
    expect(resumePosition({ ...plan, fingerprint: 'f2' }, one.position, now)).toMatchObject({
      fingerprint: 'f2',
      page: firstPage,
      pagesRead: 0,
    });
  });

  test('whose token has expired begins its window again, four times at the most', () => {
    const one = positionOf(read(plan, firstPosition(plan, now), { times: ['2026-01-10T00:00:00Z'], more: true }));
    let position = restartWindow(plan, one);
    expect(position).toMatchObject({ page: firstPage, lastSeen: null, claim: '2026-01-10T00:00:00.000Z' });
    position = restartWindow(plan, restartWindow(plan, position));
    expect(() => restartWindow(plan, position)).toThrow('begun again four times');
  });
});

/** Firings of many schedules, and which of them are lost, doubled or late. */
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { percentile } from '../support/figures.ts';
import type { ManyConnection } from './connections.ts';

/** When firings are due: every `everyMs` from `firstMs`, ms since the epoch. */
export interface Firings {
  readonly schedules: number;
  readonly firstMs: number;
  readonly everyMs: number;
  readonly count: number;
}

/** Their outcomes. */
export interface FiringFigures {
  readonly due: number;
  /** Before the next firing was due. */
  readonly ended: number;
  readonly lost: number;
  readonly doubled: number;
  /** From the time of the firing to the end of its run, s; infinite where more than one in twenty did not end. */
  readonly p95: number;
}

/** Makes a schedule for each connection, some at once; what is returned deletes them. `cronOf`: by its place in the list. */
export async function scheduleAll(
  connections: readonly ManyConnection[],
  cronOf: (place: number) => string,
): Promise<() => Promise<void>> {
  const removals: (() => Promise<void>)[] = [];
  const places = connections.entries();
  const inTurn = async (): Promise<void> => {
    for (const [place, own] of places) removals.push(await own.schedule(cronOf(place)));
  };
  await Promise.all(Array.from({ length: 8 }, inTurn));
  return async () => {
    const removeInTurn = async (): Promise<void> => {
      for (let own = removals.pop(); own; own = removals.pop()) await own();
    };
    await Promise.all(Array.from({ length: 8 }, removeInTurn));
  };
}

/** The next time that is a multiple of `everyMs`, ms since the epoch. */
export const nextMultiple = (everyMs: number): number => Math.ceil(Date.now() / everyMs) * everyMs;

/** Sleeps until a time, ms since the epoch. */
export const until = (ms: number): Promise<void> => sleep(Math.max(0, ms - Date.now()));

/** How long late runs are waited for, ms. */
const lateMs = 20_000;

/** The outcome of the firings, once the last of them have ended or their time is over. */
export async function firingFigures(
  watcher: pg.Client,
  { schedules, firstMs, everyMs, count }: Firings,
): Promise<FiringFigures> {
  const due = schedules * count;
  const ask = async () => {
    const span = [firstMs - everyMs / 2, firstMs + (count - 0.5) * everyMs];
    const { rows } = await watcher.query<{ readonly runs: number; readonly seconds: number | null }>(firingsSql, span);
    const seconds = rows.map((row) => row.seconds ?? Number.POSITIVE_INFINITY);
    return { doubled: rows.filter(({ runs }) => runs > 1).length, seconds };
  };
  const endsMs = Date.now() + lateMs;
  let now = await ask();
  while (now.seconds.filter(Number.isFinite).length < due && Date.now() < endsMs) {
    await sleep(250);
    now = await ask();
  }
  const lost = Math.max(0, due - now.seconds.length);
  const all = [...now.seconds, ...Array.from({ length: lost }, () => Number.POSITIVE_INFINITY)];
  return {
    ...{ due, lost, doubled: now.doubled },
    ended: all.filter((seconds) => seconds * 1000 < everyMs).length,
    p95: percentile(all, 0.95),
  };
}

const firingsSql = `
  select count(*)::int as runs, max(extract(epoch from finished_at - scheduled_for))::float8 as seconds
  from runs where schedule_id is not null
    and scheduled_for >= to_timestamp($1::float8 / 1000) and scheduled_for < to_timestamp($2::float8 / 1000)
  group by schedule_id, scheduled_for`;

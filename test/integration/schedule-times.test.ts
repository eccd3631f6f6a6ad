import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { CronExpressionParser } from 'cron-parser';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkCron } from '../../src/core/schedule/cron.ts';
import { createOrchestrator, type Orchestrator } from '../../src/temporal/orchestrator.ts';
import { temporalScheduleId } from '../../workflows/contract.ts';
import { cronExpressions } from '../support/expressions/cron-expressions.ts';
import { eventually } from '../support/service/eventually.ts';
import { startTemporalDevServer, type TemporalDevServer } from '../support/service/temporal-dev-server.ts';

/** Those without what never fires. */
const generated = cronExpressions(340).filter((cron) => checkCron(cron).calendars !== null);
const fixed = ['0 0 L * *', '0 0 L 2 *', '0 9 * * 5L', '0 9 * * 1#2', '0 0 13 * 5', '0 0 29 2 *', '*/30 * * * * *'];

const resources = new AsyncDisposableStack();
let server: TemporalDevServer;
let orchestrator: Orchestrator;
beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'connector-sync-schedules-'));
  resources.defer(() => rm(folder, { recursive: true }));
  server = resources.use(await startTemporalDevServer(folder));
  orchestrator = createOrchestrator(server.client, { warn: (message) => void process.stderr.write(`${message}\n`) });
});
afterAll(() => resources.disposeAsync());

let made = 0;

/** The next ten times at which the schedule fires by the account of Temporal, each up to `jitterMs` late. */
async function timesOf(cron: string, timezone = 'UTC') {
  made += 1;
  const id = `sched_${made}`;
  const ids = { orgId: 'org_1', connectionId: 'con_1', resourceKey: 'orders' };
  // Paused, it still says when it would fire.
  await asTheSweeper(() => orchestrator.putSchedule({ ...ids, id, cron, timezone, pausedBecause: 'a test' }));
  const { spec, policies, info } = await server.client.schedule.getHandle(temporalScheduleId(id)).describe();
  await asTheSweeper(() => orchestrator.dropSchedule(id));
  return { times: info.nextActionTimes, jitterMs: spec.jitter ?? 0, catchupMs: policies.catchupWindow };
}

/** Again when a busy server does not respond within the deadline of a request. */
const asTheSweeper = (apply: () => Promise<void>): Promise<boolean> =>
  eventually('Temporal takes it', async () => {
    await apply();
    return true;
  });

const parserTimes = (cron: string, { after, count, tz = 'UTC' }: { after: Date; count: number; tz?: string }) =>
  CronExpressionParser.parse(cron, { tz, currentDate: after })
    .take(count)
    .map((time) => time.toDate());

/** What differs between Temporal's next times and those of cron-parser; null: nothing. */
async function difference(cron: string): Promise<string | null> {
  const before = new Date();
  const { times, jitterMs } = await timesOf(cron);
  const [earliest] = parserTimes(cron, { after: before, count: 1 });
  const [latest] = parserTimes(cron, { after: new Date(), count: 1 });
  const after = new Date((times[0]?.getTime() ?? 0) - jitterMs - 1);
  const expected = parserTimes(cron, { after, count: times.length });
  const lateMs = times.map((time, index) => time.getTime() - (expected[index]?.getTime() ?? 0));
  const [first] = expected;
  const startsRight = earliest && latest && first && first >= earliest && first <= latest;
  if (startsRight && times.length === 10 && lateMs.every((ms) => ms >= 0 && ms <= jitterMs)) return null;
  const listed = (dates: readonly Date[]) => dates.map((date) => date.toISOString()).join(' ');
  return `${cron}: ${listed(times)} instead of ${listed(expected)}`;
}

/** In parallel, but no faster than the server likes. */
async function all<Item, Result>(items: readonly Item[], act: (item: Item) => Promise<Result>): Promise<Result[]> {
  const waiting = items.entries();
  const results: Result[] = [];
  const work = async () => {
    for (const [index, item] of waiting) results[index] = await act(item);
  };
  await Promise.all(Array.from({ length: 16 }, work));
  return results;
}

describe('a schedule in Temporal', () => {
  it('fires when cron-parser says, in UTC, for expressions of every kind', async () => {
    const expressions = [...generated, ...fixed];
    expect(expressions.length).toBeGreaterThanOrEqual(300);
    expect((await all(expressions, difference)).filter((found) => found !== null)).toEqual([]);
  });

  it('with a sixth field fires by the second', async () => {
    const { times } = await timesOf('*/5 * * * * *');
    const gaps = times.slice(1).map((time, index) => time.getTime() - (times[index]?.getTime() ?? 0));
    expect(gaps).toEqual(Array.from({ length: 9 }, () => 5000));
  });

  it.each([
    ['* * * * *', 0, 600],
    ['*/5 * * * *', 15, 600],
    ['0 */6 * * *', 60, 43_200],
    ['0 9 * * 1-5', 60, 86_400],
    ['0,1 * * * *', 0, 7080],
  ])('is spread and made up for as its interval allows: %s', async (cron, jitterSeconds, catchupSeconds) => {
    const { jitterMs, catchupMs } = await timesOf(cron);
    expect([jitterMs, catchupMs]).toEqual([jitterSeconds * 1000, catchupSeconds * 1000]);
  });

  it('names the time of the cron to a firing that jitter makes late', async () => {
    const { schedule, workflow } = server.client;
    const calendars = [{ second: { start: 0, end: 59, step: 2 }, minute: '*', hour: '*' } as const];
    const action = { type: 'startWorkflow', workflowType: 'none', taskQueue: 'none', args: [] } as const;
    const spec = { calendars, jitter: 1900 };
    const handle = await schedule.create({ scheduleId: 'late', spec, action, policies: { overlap: 'ALLOW_ALL' } });
    const late = await eventually('it fires late', async () => {
      const { recentActions } = (await handle.describe()).info;
      return recentActions.find(({ scheduledAt }) => scheduledAt.getTime() % 2000 !== 0);
    });
    await handle.delete();
    const { typedSearchAttributes } = await workflow.getHandle(late.action.workflow.workflowId).describe();
    const key = defineSearchAttributeKey('TemporalScheduledStartTime', SearchAttributeType.DATETIME);
    const dueMs = late.scheduledAt.getTime() - (late.scheduledAt.getTime() % 2000);
    expect(typedSearchAttributes.get(key)).toEqual(new Date(dueMs));
  });

  it('knows zones by their new names', async () => {
    const { times } = await timesOf('0 12 1 7 *', 'Europe/Kyiv');
    expect(times[0]?.toISOString()).toMatch(/-07-01T09:00:/);
  });
});

describe('where a zone puts its clocks forwards or back, Temporal goes another way than cron-parser', () => {
  const tz = 'America/New_York';
  const year = new Date().getUTCFullYear() + 1;
  const sunday = (month: number, nth: number) =>
    1 + ((7 - new Date(Date.UTC(year, month - 1, 1)).getUTCDay()) % 7) + 7 * (nth - 1);
  const ofYear = (times: readonly Date[]) =>
    times.filter((time) => time.getUTCFullYear() === year).map((time) => time.toISOString().slice(11, 16));
  const after = new Date(Date.UTC(year, 0, 1));

  it('does not fire in the hour that is skipped: cron-parser fires an hour later', async () => {
    const cron = `30 2 ${sunday(3, 2)} 3 *`;
    expect(ofYear(parserTimes(cron, { after, count: 1, tz }))).toEqual(['07:30']);
    expect(ofYear((await timesOf(cron, tz)).times)).toEqual([]);
  });

  it('fires twice in the hour that comes twice: cron-parser fires in the first', async () => {
    const cron = `30 1 ${sunday(11, 1)} 11 *`;
    expect(ofYear(parserTimes(cron, { after, count: 2, tz }))).toEqual(['05:30']);
    expect(ofYear((await timesOf(cron, tz)).times)).toEqual(['05:30', '06:30']);
  });
});

/** Applies schedules to Temporal; their rows are authoritative. */
import {
  type CalendarSpec,
  type Client,
  DAYS_OF_WEEK,
  MONTHS,
  ScheduleAlreadyRunning,
  ScheduleNotFoundError,
  type ScheduleOptions,
} from '@temporalio/client';
import {
  controlQueue,
  type ScheduledRunInput,
  scheduledRunId,
  scheduledRunType,
  scheduleIdOf,
  temporalScheduleId,
} from '../../workflows/contract.ts';
import type { Calendar, Range } from '../core/schedule/calendars.ts';
import { checkCron } from '../core/schedule/cron.ts';
import { firingGaps } from '../core/schedule/firing-gaps.ts';
import { resolveTimezone } from '../core/schedule/timezone.ts';
import { attributesOf } from './search-attributes.ts';

export interface ScheduleOrder {
  readonly id: string;
  readonly orgId: string;
  readonly connectionId: string;
  readonly resourceKey: string;
  readonly cron: string;
  readonly timezone: string;
  /** The reason for operators why it does not fire, or `null`. */
  readonly pausedBecause: string | null;
}

export interface ListedSchedule {
  readonly scheduleId: string;
  readonly paused: boolean;
}

/** '' stands for no org; rejects when the deadline has passed. */
export type Bounded = <T>(orgId: string, call: () => Promise<T>) => Promise<T>;
export type Attributed = (call: (withAttributes: boolean) => Promise<unknown>) => Promise<void>;

interface Calls {
  readonly bounded: Bounded;
  readonly attributed: Attributed;
}

const pageSize = 1000;

export function createTemporalSchedules({ schedule: schedules }: Client, { bounded, attributed }: Calls) {
  const handleOf = (scheduleId: string) => schedules.getHandle(temporalScheduleId(scheduleId));
  return {
    async putSchedule(order: ScheduleOrder): Promise<void> {
      await attributed((withAttributes) => {
        const { memo, scheduleId, ...changeable } = optionsOf(order, withAttributes);
        return bounded(order.orgId, async () => {
          try {
            await schedules.create({ ...changeable, memo, scheduleId });
          } catch (error) {
            if (!(error instanceof ScheduleAlreadyRunning)) throw error;
            await handleOf(order.id).update(() => changeable);
          }
        });
      });
    },
    async dropSchedule(scheduleId: string): Promise<void> {
      try {
        await bounded('', () => handleOf(scheduleId).delete());
      } catch (error) {
        if (!(error instanceof ScheduleNotFoundError)) throw error;
      }
    },
    async countMissedFirings(scheduleId: string): Promise<number | null> {
      try {
        const { info } = await bounded('', () => handleOf(scheduleId).describe());
        return info.numActionsMissedCatchupWindow;
      } catch (error) {
        if (error instanceof ScheduleNotFoundError) return null;
        throw error;
      }
    },
    async listSchedules(): Promise<readonly ListedSchedule[]> {
      const listed: ListedSchedule[] = [];
      const all = schedules.list({ pageSize })[Symbol.asyncIterator]();
      for (;;) {
        const next = await bounded('', () => all.next());
        if (next.done) return listed;
        const scheduleId = scheduleIdOf(next.value.scheduleId);
        if (scheduleId !== null) listed.push({ scheduleId, paused: next.value.state.paused });
      }
    },
  };
}

function optionsOf(order: ScheduleOrder, withAttributes: boolean) {
  const { id, orgId, connectionId, resourceKey, cron, timezone, pausedBecause } = order;
  const ids = { orgId, connectionId, resourceKey };
  const attributes = (values: Parameters<typeof attributesOf>[0]) =>
    withAttributes ? { typedSearchAttributes: attributesOf(values) } : {};
  return {
    scheduleId: temporalScheduleId(id),
    ...timesOf(cron, timezone),
    action: {
      type: 'startWorkflow' as const,
      workflowType: scheduledRunType,
      workflowId: scheduledRunId({ connectionId, resourceKey, scheduleId: id }),
      taskQueue: controlQueue,
      args: [{ ...ids, scheduleId: id } satisfies ScheduledRunInput],
      priority: { fairnessKey: orgId },
      staticSummary: `sync ${resourceKey} of ${connectionId} (schedule)`,
      staticDetails: `Schedule \`${id}\`, \`${cron}\` in ${timezone}. The result of the workflow is that of the run, or says why none was created.`,
      ...attributes({ ...ids, trigger: 'schedule', stage: 'running' }),
    },
    memo: { connectionId, resourceKey, cron },
    state: { paused: pausedBecause !== null, note: pausedBecause ?? 'enabled' },
    ...attributes(ids),
  };
}

/** Seconds after an outage for which firings are caught up; the first reads what the others would read. */
const catchupSeconds = { least: 600, most: 86_400 };
/** Spreads schedules of the same minute, but a schedule of every few minutes keeps its minute. */
const jitter = { fromSeconds: 300, share: 0.05, secondsMax: 60 };

/** Never as text: Temporal silently interprets cron expressions differently. */
function timesOf(cron: string, timezone: string): Required<Pick<ScheduleOptions, 'spec' | 'policies'>> {
  const { calendars, issue } = checkCron(cron);
  if (!calendars) throw new Error(`The cron expression of a schedule is no longer valid: ${issue}`);
  const { shortest, longest } = firingGaps(calendars);
  const catchup = Math.min(Math.max(2 * longest, catchupSeconds.least), catchupSeconds.most);
  const spread = shortest < jitter.fromSeconds ? 0 : Math.min(shortest * jitter.share, jitter.secondsMax);
  return {
    spec: {
      calendars: calendars.map((calendar) => ({ ...toCalendarSpec(calendar), comment: cron })),
      timezone: resolveTimezone(timezone) ?? timezone,
      jitter: Math.round(spread * 1000),
    },
    // The rows decide whether a firing creates a run. Temporal would silently drop the firings during a long run.
    policies: { overlap: 'ALLOW_ALL', catchupWindow: catchup * 1000, pauseOnFailure: false },
  };
}

const toCalendarSpec = ({ year, ...calendar }: Calendar): CalendarSpec => ({
  second: [...calendar.second],
  minute: [...calendar.minute],
  hour: [...calendar.hour],
  dayOfMonth: [...calendar.dayOfMonth],
  month: calendar.month.map((range) => named(range, (month) => MONTHS[month - 1])),
  dayOfWeek: calendar.dayOfWeek.map((range) => named(range, (day) => DAYS_OF_WEEK[day])),
  ...(year === null ? {} : { year: [...year] }),
});

function named<Name extends string>({ start, end, step }: Range, nameOf: (value: number) => Name | undefined) {
  const [from, to] = [nameOf(start), nameOf(end)];
  if (from === undefined || to === undefined) throw new RangeError(`No such month or day: ${start}-${end}`);
  return { start: from, end: to, step };
}

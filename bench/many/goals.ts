/** What the rounds are wanted to show. */
import type { Goal } from '../support/results.ts';
import type { Kinds } from './figures-table.ts';
import type { FiringFigures } from './firings.ts';
import { engineOf } from './per-run.ts';

/** Between two firings of a schedule, ms. */
export const everyMs = 10_000;
/** The workflow that everything is compared with. */
export const oneActivity = 'floor: one empty activity';
/** The same with an activity that takes no task of its own. */
export const oneLocalActivity = 'floor: one empty local activity';
/** The workflow of one empty activity, started by Temporal. */
export const scheduledFloor = `floor: one empty activity, every ${everyMs / 1000} s`;
/** Requested through the API. */
export const manual = 'manual, quiet';
/** Started by Temporal. */
export const scheduled = `scheduled, quiet, every ${everyMs / 1000} s`;
/** The same without what a service without runs takes in that time. */
export const scheduledNet = `${scheduled}, without what rest takes`;

/** The goals of the rounds, with their results. */
export function goalsOf(kinds: Kinds, fired: readonly FiringFigures[]): readonly Goal[] {
  const engine = (kind: string) => kinds.beside(kind, oneActivity, ({ cpu }) => engineOf(cpu));
  return [
    {
      what: 'scheduled: CPU of Temporal and worker beside the floor',
      result: engine(scheduledNet),
      unit: 'x',
      atMost: 1.4,
    },
    { what: 'the same with what rest takes', result: engine(scheduled), unit: 'x' },
    {
      what: 'scheduled: the same beside the floor that a schedule starts',
      result: kinds.beside(scheduled, scheduledFloor, ({ cpu }) => engineOf(cpu)),
      unit: 'x',
      atMost: 1.4,
    },
    { what: 'manual: CPU of Temporal and worker beside the floor', result: engine(manual), unit: 'x', atMost: 1.3 },
    {
      what: 'manual: runs/s beside the floor',
      result: kinds.beside(manual, oneActivity, ({ rate }) => rate),
      unit: 'x',
      atLeast: 0.8,
    },
    ...(fired.length === 0 ? [] : goalsOfFirings(kinds, fired)),
  ];
}

/** Of the worst round, but for the time. */
function goalsOfFirings(kinds: Kinds, fired: readonly FiringFigures[]): readonly Goal[] {
  const due = fired[0]?.due ?? Number.NaN;
  return [
    {
      what: `runs of ${due} firings that ended before the next`,
      result: Math.min(...fired.map(({ ended }) => ended)),
      unit: 'runs',
      atLeast: due,
    },
    {
      what: 'firings lost or doubled',
      result: Math.max(...fired.map(({ lost, doubled }) => lost + doubled)),
      unit: '',
      atMost: 0,
    },
    {
      what: 'from a firing to the end of its run, p95',
      result: kinds.middle(scheduled, ({ p95 }) => p95),
      unit: 's',
      atMost: 1.5,
    },
    {
      what: 'the same, of as many empty workflows',
      result: kinds.middle(scheduledFloor, ({ p95 }) => p95),
      unit: 's',
    },
  ];
}

import { type RunnerTestCase as Test, TestRunner } from 'vitest';
import type { PromiseName } from './promises.ts';

/** What one test adds to the figure of a promise. */
export interface Figure {
  readonly promise: PromiseName;
  /** How often it was broken, or what was measured. */
  readonly count: number;
  /** Out of how many. */
  readonly of: number;
}

declare module 'vitest' {
  interface TaskMeta {
    figures?: readonly Figure[];
    notes?: readonly string[];
  }
}

/**
 * Notes for `npm run trust` what the running test has found, before it checks it. Figures of one promise add up over
 * tests.
 */
export function figure(promise: PromiseName, { count, of }: Pick<Figure, 'count' | 'of'>): void {
  const test = TestRunner.getCurrentTest<Test | undefined>();
  if (!test) throw new Error('A figure belongs to a test that is running.');
  test.meta.figures = [...(test.meta.figures ?? []), { promise, count, of }];
}

/** One case: broken or kept. */
export const caseFigure = (promise: PromiseName, isBroken: boolean): void =>
  figure(promise, { count: Number(isBroken), of: 1 });

/** A line that `npm run trust` prints above its table. */
export function note(line: string): void {
  const test = TestRunner.getCurrentTest<Test | undefined>();
  if (!test) throw new Error('A note belongs to a test that is running.');
  test.meta.notes = [...(test.meta.notes ?? []), line];
}

/** What a simulated Temporal keeps: workflows, the activities they wait for, the attempts at those, the workers. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { ActivityOptions } from '@temporalio/common';
import type { SimProcess } from './scheduler.ts';

/** A workflow that was started. */
export interface Execution {
  readonly id: string;
  isOpen: boolean;
  isCanceled: boolean;
  readonly handlers: Map<string, (...args: readonly unknown[]) => void>;
  /** Whatever the workflow waits for: looked at after each event of its own. */
  readonly waits: Set<{ readonly look: () => void; readonly cancel: (reason: Error) => void }>;
  readonly tasks: Set<Task>;
}

/** How an activity is called; a local one is part of the task of its workflow. */
export type TaskOptions = ActivityOptions & { readonly isLocal: boolean };

/** An activity that a workflow waits for. */
export interface Task {
  readonly execution: Execution;
  readonly name: string;
  readonly args: readonly unknown[];
  readonly options: TaskOptions;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
  attempt: number;
  current: AttemptAtTask | null;
  isCanceled: boolean;
}

/** One attempt at an activity, on one worker. */
export interface AttemptAtTask {
  readonly task: Task;
  readonly attempt: number;
  readonly scheduledAt: number;
  readonly worker: SimWorker;
  readonly stop: AbortController;
  heardAt: number;
}

/** A worker process with its activities. */
export interface SimWorker {
  readonly process: SimProcess;
  readonly activities: Readonly<Record<string, (...args: readonly unknown[]) => Promise<unknown>>>;
  readonly running: Set<AttemptAtTask>;
}

/** Whose code runs: a workflow, or an attempt. */
export const executions = new AsyncLocalStorage<Execution>();
/** See {@link executions}. */
export const attempts = new AsyncLocalStorage<AttemptAtTask>();

/** The workflow whose code runs. */
export function currentExecution(): Execution {
  const execution = executions.getStore();
  if (!execution) throw new Error('No workflow runs here');
  return execution;
}

/** The attempt at an activity whose code runs. */
export function currentAttempt(): AttemptAtTask {
  const attempt = attempts.getStore();
  if (!attempt) throw new Error('No activity runs here');
  return attempt;
}

/** Restarts the history of a workflow with these arguments. */
export class Continued extends Error {
  readonly args: readonly unknown[];

  constructor(args: readonly unknown[]) {
    super('continued as new');
    this.args = args;
  }
}

/** Milliseconds of a duration such as `30s`. */
export function msOf(duration: string | number): number {
  if (typeof duration === 'number') return duration;
  const [, amount = '', unit = ''] = /^(\d+)(ms|s|m)$/.exec(duration) ?? [];
  return Number(amount) * ({ ms: 1, s: 1000, m: 60_000 }[unit] ?? Number.NaN);
}

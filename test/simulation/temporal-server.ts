/**
 * Temporal, as far as runs need it: workflows that outlive every worker, activities that are handed to workers, heartbeats,
 * timeouts, retries, cancels. It keeps its promises, and no more: an activity may run twice at once, and a worker that froze
 * goes on with an attempt that was replaced.
 */
import { ActivityFailure, ApplicationFailure, CancelledFailure, RetryState } from '@temporalio/common';
import { type Counts, count, type Effect } from './effects.ts';
import { inProcess, type Scheduler } from './scheduler.ts';
import {
  type AttemptAtTask,
  attempts,
  Continued,
  currentExecution,
  type Execution,
  executions,
  msOf,
  type SimWorker,
  type Task,
  type TaskOptions,
} from './temporal-tasks.ts';

type Workflow = (...args: readonly never[]) => Promise<unknown>;

/** What the service and the workflows ask of Temporal. */
export interface TemporalServer {
  /** False: one of this id is open, or has been and may not run again. */
  start(id: string, run: Workflow, options: { readonly args: readonly unknown[]; readonly again: boolean }): boolean;
  find(id: string): Execution | undefined;
  cancel(id: string): void;
  signal(id: string, name: string): void;
  /** Forgets a workflow, as if its namespace had been wiped. */
  lose(id: string): void;
  schedule(name: string, args: readonly unknown[], options: TaskOptions): Promise<unknown>;
  heartbeat(attempt: AttemptAtTask): void;
  openIds(): readonly string[];
}

interface ServerOptions {
  readonly scheduler: Scheduler;
  readonly counts: Counts;
  readonly effect: Effect;
  readonly isCalm: () => boolean;
  /** Those alive. */
  readonly workers: () => readonly SimWorker[];
}

/** A server without workflows. */
export function createTemporalServer({ scheduler, counts, effect, isCalm, workers }: ServerOptions): TemporalServer {
  const { random } = scheduler;
  const known = new Map<string, Execution>();

  const look = ({ waits }: Execution): void => {
    for (const wait of waits) wait.look();
  };

  const run = async (execution: Execution, workflow: Workflow, args: readonly unknown[]): Promise<void> => {
    try {
      await (workflow as (...given: readonly unknown[]) => Promise<unknown>)(...args);
    } catch (error) {
      if (error instanceof Continued && execution.isOpen) {
        count(counts, 'histories continued as new');
        execution.handlers.clear();
        return await run(execution, workflow, error.args);
      }
    }
    execution.isOpen = false;
  };

  const dispatch = (task: Task, afterMs: number): void => {
    const scheduledAt = scheduler.now() + afterMs;
    scheduler.after(afterMs, () => hand(task, scheduledAt));
  };

  /** A frozen worker may have asked for work before it froze; it begins when it thaws. */
  const hand = (task: Task, scheduledAt: number): void => {
    if (!task.execution.isOpen) return;
    const all = workers();
    const awake = all.filter(({ process }) => process.frozenUntil <= scheduler.now());
    const from = awake.length === 0 || random.chance(0.05) ? all : awake;
    if (from.length === 0) return void scheduler.after(500, () => hand(task, scheduledAt));
    const worker = random.pick(from);
    const heardAt = scheduler.now();
    const { attempt } = task;
    const given = { task, attempt, scheduledAt, worker, stop: new AbortController(), heardAt };
    task.current = given;
    watch(given);
    scheduler.after(random.between(1, 5), () => void execute(given), worker.process);
  };

  const execute = async (given: AttemptAtTask): Promise<void> => {
    const { task, worker } = given;
    count(counts, 'attempts');
    if (task.current !== given) count(counts, 'attempts begun late');
    worker.running.add(given);
    const route = {
      name: 'report to Temporal',
      faults: 0.02,
      latencyMs: [1, 4],
      failure: () => new Error('lost'),
    } as const;
    const report = async (settle: () => void): Promise<void> => {
      worker.running.delete(given);
      await effect(route, () => task.current === given && settle()).catch(() => undefined);
    };
    try {
      const activity = worker.activities[task.name];
      if (!activity) throw new Error(`No activity ${task.name}`);
      const result = await inProcess(worker.process, () => attempts.run(given, () => activity(...argsOf(given))));
      await report(() => finish(task, () => task.resolve(result)));
    } catch (error) {
      await report(() => fail(task, error));
    }
  };

  const finish = (task: Task, settle: () => void): void => {
    task.current = null;
    task.execution.tasks.delete(task);
    // A workflow that was forgotten is notified of nothing.
    if (known.get(task.execution.id) === task.execution) settle();
  };

  const fail = (task: Task, error: unknown): void => {
    const isFinal = error instanceof ApplicationFailure && error.nonRetryable === true;
    if (isFinal || error instanceof CancelledFailure || task.isCanceled || task.options.isLocal) {
      const cause = task.isCanceled && !isFinal ? new CancelledFailure('CANCELLED') : (error as Error);
      finish(task, () => task.reject(failureOf(task, cause)));
      return;
    }
    again(task);
  };

  const again = (task: Task): void => {
    const { initialInterval, backoffCoefficient = 2, maximumInterval } = task.options.retry ?? {};
    const delay = Math.min(
      msOf(maximumInterval ?? '100s'),
      msOf(initialInterval ?? '1s') * backoffCoefficient ** (task.attempt - 1),
    );
    task.current = null;
    task.attempt += 1;
    dispatch(task, delay);
  };

  const watch = (given: AttemptAtTask): void => {
    const { task } = given;
    const { heartbeatTimeout, startToCloseTimeout = '1000s' } = task.options;
    const endsAt = scheduler.now() + msOf(startToCloseTimeout);
    const check = (): void => {
      if (task.current !== given || !task.execution.isOpen) return;
      // The SDK itself keeps the task of a workflow alive, as long as its process lives.
      if (task.options.isLocal && isAwake(given.worker, scheduler.now())) given.heardAt = scheduler.now();
      const silentAt = heartbeatTimeout === undefined ? endsAt : given.heardAt + msOf(heartbeatTimeout);
      const due = Math.min(silentAt, endsAt);
      if (scheduler.now() < due) return void scheduler.after(due - scheduler.now(), check);
      count(counts, 'attempts timed out');
      if (task.isCanceled) finish(task, () => task.reject(failureOf(task, new CancelledFailure('CANCELLED'))));
      else again(task);
    };
    check();
  };

  return {
    start(id, workflow, { args, again: mayRunAgain }) {
      const before = known.get(id);
      if (before) count(counts, 'starts repeated');
      if (before && (before.isOpen || !mayRunAgain)) return false;
      const execution: Execution = {
        id,
        isOpen: true,
        isCanceled: false,
        handlers: new Map(),
        waits: new Set(),
        tasks: new Set(),
      };
      known.set(id, execution);
      scheduler.after(
        random.between(1, 20),
        () => void executions.run(execution, () => run(execution, workflow, args)),
      );
      return true;
    },
    find: (id) => known.get(id),
    cancel(id) {
      const execution = known.get(id);
      if (!execution?.isOpen) return;
      scheduler.after(1, () => {
        execution.isCanceled = true;
        for (const task of execution.tasks) task.isCanceled = true;
        for (const wait of [...execution.waits]) wait.cancel(new CancelledFailure('Workflow canceled'));
      });
    },
    signal(id, name) {
      const execution = known.get(id);
      if (!execution?.isOpen) return;
      scheduler.after(1, () => {
        execution.handlers.get(name)?.();
        look(execution);
      });
    },
    lose(id) {
      const execution = known.get(id);
      if (!execution) return;
      execution.isOpen = false;
      known.delete(id);
    },
    schedule(name, args, options) {
      const execution = currentExecution();
      const { promise, resolve, reject } = Promise.withResolvers<unknown>();
      const task: Task = {
        execution,
        name,
        args,
        options,
        resolve,
        reject,
        attempt: 1,
        current: null,
        isCanceled: false,
      };
      execution.tasks.add(task);
      dispatch(task, random.between(1, 10));
      return promise;
    },
    heartbeat(given) {
      const { task, stop } = given;
      const isReplaced = task.current !== given || known.get(task.execution.id) !== task.execution;
      if (!isReplaced) given.heardAt = scheduler.now();
      // An attempt that was replaced is notified of it, unless the network keeps it apart.
      if (isReplaced && (isCalm() || random.chance(0.5))) stop.abort(new CancelledFailure('NOT_FOUND'));
      if (!isReplaced && task.isCanceled) stop.abort(new CancelledFailure('CANCELLED'));
    },
    openIds: () => [...known.values()].filter(({ isOpen }) => isOpen).map(({ id }) => id),
  };
}

/** A task of a workflow that is done again brings the time of the new one, which is the last argument. */
const argsOf = ({ task, scheduledAt }: AttemptAtTask): readonly unknown[] =>
  task.options.isLocal ? [...task.args.slice(0, -1), scheduledAt] : task.args;

const isAwake = ({ process }: SimWorker, now: number): boolean => process.alive && process.frozenUntil <= now;

const failureOf = (task: Task, cause: Error): ActivityFailure =>
  new ActivityFailure(undefined, task.name, '1', RetryState.NON_RETRYABLE_FAILURE, 'worker', cause);

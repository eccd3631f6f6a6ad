import { CancelledFailure, Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { isCancelRequested } from '../db/queries/runs/cancel.ts';
import type { Begun } from '../db/queries/runs/lanes/begin-run.ts';
import { orgScope } from '../db/scope.ts';
import { workOf } from '../src/core/work-ids.ts';
import type { Deps } from '../src/deps.ts';
import type { Slots } from '../src/temporal/worker-slots.ts';
import type { ChunkResult, FirstStep, ScheduledRunInput, SyncRunInput } from '../workflows/contract.ts';
import { idsOf } from '../workflows/input-ids.ts';
import { withFailures } from './failures.ts';
import { notCreated, outcomeOf } from './firing-outcome.ts';
import { watchMovement } from './movement.ts';
import { createNewLanes } from './new-lanes.ts';
import { reportProgress } from './progress.ts';
import { beginRun } from './run-lifecycle.ts';
import type { FiringRun } from './schedules.ts';
import {
  advanceRun,
  type ChunkDeps,
  type ChunkLimits,
  chunkMsMax,
  noteAttemptFailure,
  waitsForTurn,
} from './sync-chunk.ts';

/** A cancel reaches the chunk with the next heartbeat, and four may be lost. */
const heartbeatMs = 1000;
/** Milliseconds after which the first step requests no further page: a longer run is not quick. */
const firstStepMs = 1000;
/** Milliseconds that a page or delivery in progress then has to end; a slower one starts over in the activity. */
const firstStepGraceMs = 4000;

/** Returns the reason as text if none is created. */
type CreateRunOfFiring = (
  deps: Deps,
  input: ScheduledRunInput,
  scheduledFor: string,
  options: { readonly begins: boolean },
) => Promise<FiringRun | string>;

type InContext = <Result>(
  input: SyncRunInput,
  advance: (deps: ChunkDeps) => Promise<Result>,
  beat: () => void,
) => Promise<Result>;

export function createSyncActivities(deps: Deps, slots: Slots, createRunOfFiring: CreateRunOfFiring) {
  const inContext = createInContext(deps, slots);
  const firstStep = createFirstStep(deps, inContext);

  return {
    /** Returns `waitMs` when the API asks to wait. Safe to run twice, as the head of sync-chunk.ts says. */
    syncPages: (input: SyncRunInput): Promise<ChunkResult> => {
      const context = Context.current();
      const { cancellationSignal: canceled, info } = context;
      const scheduledAtMs = info.currentAttemptScheduledTimestampMs;
      const advance = async (chunk: ChunkDeps) => {
        const { turn, isFirst } = await beginRun(deps, input);
        if (turn === 'waiting') return waitsForTurn;
        return await advanceRun(chunk, input, { canceled, msMax: chunkMsMax, scheduledAtMs, isFirst });
      };
      return inContext(input, advance, () => context.heartbeat());
    },
    /**
     * Reads a run whose lane's last run was quick; otherwise does nothing. Safe to run twice, as syncPages is: a first step
     * that dies with its worker is repeated (test/integration/quiet-runs.test.ts).
     */
    runHere: (input: SyncRunInput, scheduledAtMs: number): Promise<FirstStep> =>
      inSlot(slots, async (hasSlot) => (hasSlot ? firstStep(input, scheduledAtMs) : started(input))),
    /**
     * Creates the run of a firing, and reads it as runHere does. Safe to run twice: a repeat finds the run
     * (test/integration/schedule-ticks.test.ts), and reads the rest (test/integration/quiet-runs.test.ts).
     */
    async fireHere(input: ScheduledRunInput, scheduledFor: string, scheduledAtMs: number): Promise<FirstStep> {
      const { orgId, connectionId, resourceKey, scheduleId } = input;
      return await inSlot(slots, async (hasSlot) => {
        const created = await withFailures(notCreated(deps, input, scheduledFor), () =>
          createRunOfFiring(deps, input, scheduledFor, { begins: hasSlot }),
        );
        if (typeof created === 'string') return { ...outcomeOf(created), chunk: null, error: null };
        const firing = { scheduleId, scheduledFor };
        const run = { orgId, connectionId, resourceKey, runId: created.id, firing };
        if (!hasSlot) return started(run);
        return await firstStep(run, scheduledAtMs, created.hasBegun ? hasBegun : undefined);
      });
    },
  };
}

function createInContext(deps: Deps, slots: Slots): InContext {
  const shared = { ...deps, newLanes: createNewLanes() };
  return async (input, advance, beat) => {
    const context = Context.current();
    const log = deps.log.child({ attempt: context.info.attempt });
    const note = (failure: ApplicationFailure) => noteAttemptFailure({ db: deps.db, log }, input, failure);
    using movement = watchMovement(slots);
    using progress = reportProgress(context);
    using _beat = setInterval(() => {
      beat();
      movement.check();
    }, heartbeatMs);
    return await workOf(idsOf(input), () =>
      withFailures({ write: log.warn, message: 'chunk failed', note }, () =>
        advance({ ...shared, log, movement, progress }),
      ),
    );
  };
}

async function inSlot<Result>(slots: Slots, work: (hasSlot: boolean) => Promise<Result>): Promise<Result> {
  const release = slots.tryTake();
  try {
    return await work(release !== null);
  } finally {
    release?.();
  }
}

/** Leaves the run to the activity. */
const started = ({ runId }: SyncRunInput): FirstStep => ({ runId, outcome: 'started', chunk: null, error: null });

/** A run that was inserted as `running`. */
const hasBegun = { turn: 'running', isQuick: true, isFirst: true } as const;

/** Reads only if the last run of the lane was quick. */
function createFirstStep(deps: Deps, inContext: InContext) {
  return async (
    input: SyncRunInput,
    scheduledAtMs: number,
    begun?: Pick<Begun, 'turn' | 'isQuick' | 'isFirst'>,
  ): Promise<FirstStep> => {
    const step = started(input);
    try {
      const { turn, isQuick, isFirst } = begun ?? (await beginRun(deps, input, { onlyIfQuick: true }));
      if (!isQuick) return step;
      if (turn === 'waiting') return { ...step, chunk: waitsForTurn };
      return { ...step, chunk: await readHere(deps, input, { inContext, scheduledAtMs, isFirst }) };
    } catch (error) {
      return { ...step, error: finalErrorOf(error) };
    }
  };
}

interface ReadHere extends Pick<ChunkLimits, 'scheduledAtMs' | 'isFirst'> {
  readonly inContext: InContext;
}

async function readHere(deps: Deps, input: SyncRunInput, { inContext, ...begun }: ReadHere): Promise<ChunkResult> {
  const leaving = new AbortController();
  const leave = () => leaving.abort(new CancelledFailure('CANCELLED'));
  const canceled = AbortSignal.any([Context.current().cancellationSignal, leaving.signal]);
  const late = setTimeout(leave, firstStepMs + firstStepGraceMs);
  // Temporal reports a cancel only when the workflow task ends.
  const leaveIfCanceled = () =>
    void isCancelRequested(deps.db, orgScope(input.orgId), input.runId)
      .then((isRequested) => isRequested && leave())
      .catch(() => undefined);
  try {
    return await inContext(
      input,
      (chunk) => advanceRun(chunk, input, { ...begun, canceled, msMax: firstStepMs }),
      leaveIfCanceled,
    );
  } finally {
    clearTimeout(late);
  }
}

/** `null` if the activity tries again. */
const finalErrorOf = (error: unknown): FirstStep['error'] =>
  error instanceof ApplicationFailure && error.nonRetryable
    ? { code: error.type ?? 'internal', message: error.message }
    : null;

import type { Db } from '../db/client.ts';
import type { Attempt } from '../db/queries/runs/attempts.ts';
import { findRecordStates } from '../db/queries/runs/records/record-state.ts';
import type { OrgScope } from '../db/scope.ts';
import { prepareDestination } from '../src/connect/open-destination.ts';
import { openSource } from '../src/connect/open-source.ts';
import { createSealedEchoes, type SealedEchoes } from '../src/connect/sealed-echoes.ts';
import type { ResourceSetup } from '../src/connect/setup.ts';
import type { Destination } from '../src/core/destinations/destination.ts';
import type { DestinationDeps } from '../src/core/destinations/registry.ts';
import { ownsRows } from '../src/core/destinations/target-table.ts';
import { takenOver } from '../src/core/errors.ts';
import type { LoggedCall } from '../src/core/http/logged-call.ts';
import type { Redactor } from '../src/core/http/redact.ts';
import { deletesFirst } from '../src/core/model/run-position.ts';
import { createInvalidLimit } from '../src/core/pipeline/invalid-limit.ts';
import { createKnownRecords } from '../src/core/pipeline/known-records.ts';
import type { SeenIdFilter } from '../src/core/pipeline/seen-id-filter.ts';
import { createDelivery, type Delivery } from '../src/core/run/delivery.ts';
import { createEngine, type Engine } from '../src/core/run/engine.ts';
import { createLazyDestination } from '../src/core/run/lazy-destination.ts';
import { repairFromCheckpoint, type StartPoint, startOfRecorded } from '../src/core/run/repair.ts';
import type { DecodeTurns } from '../src/core/source/decode/decode-turns.ts';
import type { Deps } from '../src/deps.ts';
import { openCallLog } from './call-log.ts';
import { createConformer } from './conform.ts';
import { createLookupStore } from './lookup-store.ts';
import type { NewLanes } from './new-lanes.ts';
import { createOutbox } from './outbox.ts';
import { type AttemptLedger, createRunLedger } from './run-ledger.ts';
import { createRunStore } from './run-store.ts';
import { sealedPage } from './sealed-page.ts';

export interface OpenRun {
  readonly destinationFingerprint: string;
  readonly isUntouched: () => boolean;
  readonly start: StartPoint;
  readonly engine: Engine;
  readonly delivery: Delivery;
  readonly ledger: Pick<AttemptLedger, 'leftToEnd'>;
}

interface OpenRunOptions {
  readonly runId: string;
  readonly attempt: Attempt;
  readonly isFirst: boolean;
  readonly setup: ResourceSetup;
  readonly startedAt: Date;
  readonly newLanes: NewLanes;
  /** Knows the secrets of the connection, and is given every later one. */
  readonly redactor: Redactor;
  readonly onRateLimit: (waitMs: number) => void;
  /** Disposed of at the end of the attempt; the run continues. */
  readonly resources: AsyncDisposableStack;
}

/** Throws `spec_invalid` when spec and connection no longer fit together, and errors of the destination. */
export async function openRun(deps: Deps, scope: OrgScope, options: OpenRunOptions): Promise<OpenRun> {
  const { db, log } = deps;
  const { runId, attempt, isFirst, setup, startedAt, newLanes, redactor, onRateLimit, resources } = options;
  const { spec, resource, params } = setup;
  const { connectionId, laneId, backfill } = attempt;
  const callLog = await openCallLog(db, scope, { runId, isFirst });
  resources.defer(() => callLog.stored().catch((error: unknown) => log.warn('call log not stored', { error })));
  const logCall = (call: LoggedCall) => callLog.write(call);
  const redact = (text: string) => redactor.values(text);
  const hasSecret = (text: string) => redactor.values(text) !== text;
  const echoes = createSealedEchoes(deps.secretBox, scope, { connectionId, hasSecret });
  const seal = (text: string) => echoes.seal(text);
  const decodeTurns = resources.use(deps.decodeQueue.open(scope.orgId));
  const {
    destination,
    ledger,
    start: stored,
    ...at
  } = await openConformed(deps, scope, options, {
    logCall,
    redact,
    echoes,
    decodeTurns,
  });
  const start = { ...stored, position: echoes.reveal(stored.position, null) };
  const clients = resources.use(new AsyncDisposableStack());
  // A destination that was restored from a backup is fresh too, and the lane knows its records.
  const rewinds = backfill?.rewind === true;
  const knowsNothing = start.fresh && !rewinds && start.leftovers === 0;
  if (start.fresh && !knowsNothing) newLanes.leave(laneId);
  const seen = newLanes.take(attempt, knowsNothing);
  const known = createKnownRecords(storedBy(db, scope, { laneId, seen, echoes }), start.carried);
  const opening = { runId, connectionId, setup, startedAt, logCall, redactor, onRateLimit, stack: clients };
  const engine = createEngine({
    runId,
    startedAt,
    spec,
    resource,
    params,
    redeliver: rewinds || backfill?.force === true,
    force: backfill?.force ?? false,
    openSource: (opened) =>
      openSource({ ...deps, decodeTurns }, scope, {
        ...opening,
        resource: opened,
        backfill: opened === resource && !rewinds ? backfill : null,
      }),
    store: createRunStore(deps, scope, { runId, attempt, spec, echoes }),
    lookupStore: createLookupStore(deps, scope, { connectionId, runId, echoes }),
    known,
    evaluator: deps.evaluators.forOrg(scope.orgId),
    redact,
    seal,
    recordBytesMax: deps.config.recordBytesMax,
    onLoaded: (loaded) => log.info('lookup loaded', { ...loaded }),
  });
  const delivery = createDelivery({
    ledger,
    runId,
    resource,
    destination,
    known,
    callsStored: () => callLog.stored(),
    redact,
    seal,
    sealPage: (page) => sealedPage(page, echoes),
    batchNo: start.batchNo,
    appliesFirst: start.fresh || start.isBehind,
    invalidLimit: createInvalidLimit(resource, { recordsIn: start.records, invalid: start.invalid }),
  });
  return { ...at, start, engine, delivery, ledger };
}

type DestinationUses = Pick<DestinationDeps, 'logCall'> & {
  readonly redact: (text: string) => string;
  readonly echoes: SealedEchoes;
  readonly decodeTurns: DecodeTurns;
};

interface RunDestination extends Pick<OpenRun, 'destinationFingerprint' | 'isUntouched' | 'start'> {
  readonly destination: Pick<Destination, 'prepare' | 'apply'>;
  readonly ledger: AttemptLedger;
}

/** Opens the destination, and resets what the lane stores about anything other than the run reads. */
async function openConformed(
  deps: Deps,
  scope: OrgScope,
  options: OpenRunOptions,
  uses: DestinationUses,
): Promise<RunDestination> {
  const { attempt } = options;
  const conformer = createConformer(deps, scope, options);
  if (conformer.startsOver) {
    const conformed = await conformer.conform();
    const anew = { ...attempt, ...conformed, readCompleted: false, watermarkBefore: null, recordedWith: null };
    return openRunDestination(deps, scope, { ...options, attempt: anew }, uses);
  }
  const opened = await openRunDestination(deps, scope, options, uses);
  const conformed = await conformer.conform();
  if (conformed === null) return opened;
  const position = conformed.position ?? (opened.start.isBehind ? deletesFirst : null);
  return { ...opened, start: { ...opened.start, position, readCompleted: false } };
}

/**
 * Claims the lane at the destination and repairs the ledger from it. If the ledger's last batch was recorded with the same
 * destination, the first non-empty batch does so instead.
 */
async function openRunDestination(
  deps: Deps,
  scope: OrgScope,
  { runId, attempt, setup, startedAt, resources }: OpenRunOptions,
  { logCall, redact, echoes, decodeTurns: turns }: DestinationUses,
): Promise<RunDestination> {
  const { db, log } = deps;
  const { laneId, fence, recordedWith } = attempt;
  const { destination, target, fingerprint, place, onBehind } = await prepareDestination(deps, scope, setup, {
    id: runId,
    startedAt,
    outbox: createOutbox(deps, scope, { owner: { laneId, fence, runId }, redact, echoes }),
    logCall,
    onStrayRejections: (stray) => log.warn('the receiver rejected records that were not sent to it', { ...stray }),
  });
  resources.use(destination);
  const ledger = createRunLedger(db, scope, { runId, laneId, fence, place });
  const { backfill } = attempt;
  // A backfill with a start leaves what was lost of older records.
  const deliversAgain = backfill?.rewind === true || (backfill?.force === true && backfill.from === null);
  const behaviour = {
    ownsRows: ownsRows(setup.resource, setup.spec.resources),
    whenBehind: deliversAgain ? ('deliver_again' as const) : onBehind,
    ...repairNotes(log, { runId, attempt }),
  };
  const openAfter = (batchNo: number) =>
    repairFromCheckpoint({ run: { ...attempt, runId, batchNo }, ledger, destination, target, turns, ...behaviour });
  const opened = { destinationFingerprint: fingerprint, ledger };
  // Redelivery begins where the destination stands.
  if (recordedWith !== fingerprint || deliversAgain) {
    if (recordedWith !== null && !(await ledger.clearRecordedWith())) throw takenOver();
    const start = await openAfter(attempt.batchNo);
    return { ...opened, destination, start, isUntouched: () => false };
  }
  const lazy = createLazyDestination({ destination, ledger, open: openAfter });
  const start = startOfRecorded({ ...attempt, runId });
  return { ...opened, destination: lazy, start, isUntouched: () => !lazy.isOpen };
}

const repairNotes = (
  log: Deps['log'],
  { runId, attempt: { connectionId, resourceKey } }: Pick<OpenRunOptions, 'runId' | 'attempt'>,
) => ({
  onStartOver: (recordsForgotten: number) =>
    log.warn('the destination is new; everything is read and delivered again', {
      connectionId,
      resourceKey,
      recordsForgotten,
    }),
  onBehind: (batches: number) =>
    log.warn('the destination is ahead of the ledger; what lies between is delivered again', {
      connectionId,
      resourceKey,
      runId,
      batches,
    }),
});

/** The stored state of records of a lane; ids that a new lane never looked up need no query. */
const storedBy =
  (
    db: Db,
    scope: OrgScope,
    {
      laneId,
      seen,
      echoes,
    }: Pick<Attempt, 'laneId'> & { readonly seen: SeenIdFilter | null; readonly echoes: Pick<SealedEchoes, 'reveal'> },
  ) =>
  async (externalIds: readonly string[]) => {
    const known = seen === null ? externalIds : externalIds.filter((id) => seen.note(id));
    const states = known.length === 0 ? [] : await findRecordStates(db, scope, { laneId, externalIds: known });
    return states.map((state) =>
      state.cursor === null ? state : { ...state, cursor: echoes.reveal(state.cursor, null) },
    );
  };

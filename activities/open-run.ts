/** Opens everything the pages of a run go through, from its setup: source, pipeline, destination, delivery. */

import type { Db } from '../db/client.ts';
import type { Attempt } from '../db/queries/runs/attempts.ts';
import { findRecordStates } from '../db/queries/runs/record-state.ts';
import type { OrgScope } from '../db/scope.ts';
import { prepareDestination } from '../src/connect/open-destination.ts';
import { type OpenedSource, openSource } from '../src/connect/open-source.ts';
import { ofResource, type ResourceSetup } from '../src/connect/setup.ts';
import type { Destination, TargetTable } from '../src/core/destinations/destination.ts';
import type { LoggedCall } from '../src/core/http/client.ts';
import { createRedactor } from '../src/core/http/redact.ts';
import { createInvalidBrake } from '../src/core/pipeline/invalid-brake.ts';
import { createKnownRecords, type KnownRecords } from '../src/core/pipeline/known-records.ts';
import { createPipeline, type Pipeline } from '../src/core/pipeline/process-page.ts';
import type { SeenIdFilter } from '../src/core/pipeline/seen-id-filter.ts';
import type { RunReading } from '../src/core/run/reading.ts';
import { createEnrich } from '../src/core/source/lookups/enrich.ts';
import { type LoadedLookup, loadLookups } from '../src/core/source/lookups/load-lookups.ts';
import { lookupsInUse } from '../src/core/spec/connection/lookups-in-use.ts';
import { storedFieldsOf } from '../src/core/spec/connection/stored-fields.ts';
import type { Deps } from '../src/deps.ts';
import type { Log } from '../src/log.ts';
import { openCallLog } from './call-log.ts';
import { createDelivery, type Delivery } from './delivery.ts';
import { createLookupStore } from './lookup-store.ts';
import { createOutbox } from './outbox.ts';
import type { StartPoint } from './repair.ts';
import { loadSetup } from './run-setup.ts';
import { createRunStore } from './run-store.ts';

/** A run with everything open that one attempt needs. Disposing closes connections, not the run. */
export interface OpenRun extends AsyncDisposable {
  readonly setup: ResourceSetup;
  readonly startedAt: Date;
  readonly log: Log;
  readonly destination: Destination;
  readonly target: TargetTable;
  /** The stages of its pages from where the attempt starts; called once. */
  startFrom(start: RunStart): StartedRun;
}

/** Where an attempt starts. */
export interface RunStart extends Pick<StartPoint, 'batchNo' | 'fresh' | 'records' | 'invalid' | 'carried'> {
  /** For a new lane: ids that were not looked up are not stored. Null: the lane is not new. */
  readonly asked: SeenIdFilter | null;
}

/** A run whose start is known. */
export interface StartedRun {
  readonly delivery: Delivery;
  /** Loads the tables that it refers to, then returns the reading and its pipeline. Throws as reading does. */
  readonly load: (signal: AbortSignal) => Promise<{ readonly reading: RunReading; readonly pipeline: Pipeline }>;
}

/** Opens a run for one attempt. Throws `spec_invalid` when spec and connection no longer fit together. */
export async function openRun(
  deps: Deps,
  scope: OrgScope,
  { runId, attempt }: { readonly runId: string; readonly attempt: Attempt },
): Promise<OpenRun> {
  const { db } = deps;
  const [setup, callLog] = await Promise.all([
    loadSetup(deps, scope, { runId, ...attempt }),
    openCallLog(db, scope, runId),
  ]);
  const { spec, resource, params } = setup;
  const { connectionId, backfill } = attempt;
  const startedAt = new Date(attempt.startedAt ?? Date.now());
  await using stack = new AsyncDisposableStack();
  stack.defer(() => callLog.stored().catch((error: unknown) => deps.log.warn('call log not stored', { error })));
  const logCall = (call: LoggedCall) => callLog.write(call);
  const redactor = createRedactor([]);
  const redact = (text: string) => redactor.values(text);
  const { laneId, fence } = attempt;
  const { destination, target } = await prepareDestination(deps, scope, setup, {
    id: runId,
    startedAt,
    outbox: createOutbox(deps, scope, { owner: { laneId, fence, runId }, redact }),
    logCall,
    onStrayRejections: (stray) => deps.log.warn('the receiver rejected records that were not sent to it', { ...stray }),
  });
  stack.use(destination);
  const clients = stack.use(new AsyncDisposableStack());
  const opening = { runId, connectionId, setup, startedAt, logCall, redactor, stack: clients };
  const source = await openSource(deps, scope, { ...opening, resource, backfill });
  const lookupStore = createLookupStore(deps, scope, { connectionId, runId });
  const withTables = async (opened: OpenedSource, resourceKey: string, signal: AbortSignal): Promise<OpenedSource> => {
    const onLoaded = (loaded: LoadedLookup) => deps.log.info('lookup loaded', { ...loaded });
    const used = lookupsInUse(spec, resourceKey);
    return { ...opened, lookups: await loadLookups(opened, used, { store: lookupStore, signal, onLoaded }) };
  };
  const force = backfill?.force ?? false;
  const load = async (signal: AbortSignal, known: KnownRecords): ReturnType<StartedRun['load']> => {
    const loaded = await withTables(source, resource.key, signal);
    const reading: RunReading = {
      resource,
      source: loaded,
      store: createRunStore(deps, scope, { runId, attempt }),
      lookupStore,
      force,
      findResource: (resourceKey) => ofResource(setup, resourceKey).resource,
      async openParent(resourceKey) {
        const { resource: parent } = ofResource(setup, resourceKey);
        const ofParent = await openSource(deps, scope, { ...opening, resource: parent, backfill: null });
        return { resource: parent, source: await withTables(ofParent, resourceKey, signal) };
      },
    };
    const pipeline = createPipeline({
      resource,
      params,
      lookups: loaded.lookups,
      runId,
      startedAt,
      known,
      storedFields: storedFieldsOf(spec, resource.key),
      enrich: createEnrich(loaded, resource.enrich, { store: lookupStore, signal }),
      redeliver: force,
      evaluator: deps.evaluators.forOrg(scope.orgId),
      redact,
      recordBytesMax: deps.config.recordBytesMax,
    });
    return { reading, pipeline };
  };
  const opened = stack.move();
  return {
    setup,
    startedAt,
    log: deps.log,
    destination,
    target,
    startFrom({ batchNo, fresh, records: recordsIn, invalid, carried, asked }) {
      const known = createKnownRecords(storedBy(db, scope, { laneId, asked }), carried);
      return {
        delivery: createDelivery({
          db,
          scope,
          runId,
          owner: { laneId, fence },
          resource,
          destination,
          known,
          callLog,
          redact,
          batchNo,
          fresh,
          brake: createInvalidBrake(resource, { recordsIn, invalid }),
        }),
        load: (signal) => load(signal, known),
      };
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** The stored state of records of a lane; ids that a new lane never looked up need no query. */
const storedBy =
  (db: Db, scope: OrgScope, { laneId, asked }: Pick<Attempt, 'laneId'> & Pick<RunStart, 'asked'>) =>
  async (externalIds: readonly string[]) => {
    const known = asked === null ? externalIds : externalIds.filter((id) => asked.note(id));
    return known.length === 0 ? [] : await findRecordStates(db, scope, { laneId, externalIds: known });
  };

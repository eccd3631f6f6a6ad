import type { Attempt } from '../db/queries/runs/attempts.ts';
import { countListed, findDue, findListed } from '../db/queries/runs/records/listed-deletions.ts';
import {
  countKnown,
  countMissing,
  findDeleted,
  findMissing,
  hidesMissing,
  startsOver,
} from '../db/queries/runs/records/missing-records.ts';
import { findParents, isLaneComplete, parentsInstant } from '../db/queries/runs/records/parents.ts';
import { findChangedPartitions } from '../db/queries/runs/records/partition-changes.ts';
import { findRequeued, noteReadsBefore, type RequeuedRow } from '../db/queries/runs/records/requeue.ts';
import {
  addToDimension,
  clearDimension,
  countDimensions,
  findCombinations,
  findDimensionValue,
  findPartition,
} from '../db/queries/runs/run-dimensions.ts';
import { countReplaced, isClean, readSoFar } from '../db/queries/runs/runs.ts';
import type { OrgScope } from '../db/scope.ts';
import type { SealedEchoes } from '../src/connect/sealed-echoes.ts';
import { AppError, takenOver } from '../src/core/errors.ts';
import { isJsonObject } from '../src/core/json/is-json-object.ts';
import { listedRecord, neverRead, type Requeued, type RunStore } from '../src/core/run/run-store.ts';
import { findResource } from '../src/core/spec/connection/find-resource.ts';
import { fieldsMeaning } from '../src/core/spec/connection/meaning.ts';
import { readsAll } from '../src/core/spec/connection/reads-all.ts';
import type { ConnectorSpec } from '../src/core/spec/schema/spec-schema.ts';
import { mapWithPauses } from '../src/core/work/map-with-pauses.ts';
import type { Deps } from '../src/deps.ts';
import { sealedPosition } from './sealed-page.ts';

const sealedForever =
  'SECRETS_KEYS no longer opens the list of partitions that this run has stored. Start the sync again: it lists them anew.';

interface RunStoreOptions {
  readonly runId: string;
  readonly attempt: Attempt;
  readonly spec: ConnectorSpec;
  readonly echoes: SealedEchoes;
}

export function createRunStore(
  { db }: Pick<Deps, 'db'>,
  scope: OrgScope,
  { runId, attempt, spec, echoes }: RunStoreOptions,
): RunStore {
  const { laneId, fence, connectionId, resourceKey, seq, hasRequeued } = attempt;
  // Needed for every partition, and fixed once all dimensions are listed.
  let counts: Promise<ReadonlyMap<number, number>> | null = null;
  const countAll = async () =>
    new Map((await countDimensions(db, scope, runId)).map(({ dimension, count }) => [dimension, count]));
  const dimensionCounts: RunStore['dimensionCounts'] = async (dimensions) => {
    if (dimensions.length === 0) return [];
    counts ??= countAll();
    const known = await counts;
    return dimensions.map((dimension) => known.get(dimension) ?? 0);
  };
  return {
    async requeued(page) {
      if (!hasRequeued) return [];
      const rows = await findRequeued(db, scope, { connectionId, resourceKey, ...page });
      return await mapWithPauses(rows, unmasked, echoes);
    },
    async clearDimension(dimension) {
      if (!(await clearDimension(db, scope, { runId, owner: { laneId, fence }, dimension }))) throw takenOver();
    },
    async addToDimension(dimension, values, position) {
      counts = null;
      const listed = await mapWithPauses(values, ({ key, value }) => ({ key, value: echoes.hide(value) }));
      const part = {
        runId,
        owner: { laneId, fence },
        dimension,
        values: listed,
        position: sealedPosition(position, echoes),
      };
      if (!(await addToDimension(db, scope, part))) throw takenOver();
    },
    dimensionCounts,
    async dimensionValue(dimension, no) {
      const value = await findDimensionValue(db, scope, { runId, dimension, no });
      if (!value) throw new Error(`Dimension ${dimension} of run ${runId} has no value ${no}`);
      const plain = echoes.reveal(value, null);
      if (plain) return plain;
      throw new AppError('source_rejected', sealedForever);
    },
    async combinations(dimensions, page) {
      const sizes = await dimensionCounts(dimensions);
      const lists = dimensions.map((dimension, index) => ({ dimension, count: sizes[index] ?? 0 }));
      return await findCombinations(db, scope, { runId, lists, ...page });
    },
    async changedPartitions(partitions) {
      return new Set(await findChangedPartitions(db, scope, { connectionId, laneId, partitions }));
    },
    listingInstant: (parent) => parentsInstant(db, scope, { connectionId, resourceKey: parent }),
    async parents(parent, { select, ...page }) {
      const found = await findParents(db, scope, {
        connectionId,
        resourceKey: parent,
        changedFor: select === 'changed' ? laneId : null,
        isReadWhole: readsAll(findResource(spec, parent)),
        fields: fieldsMeaning(spec, parent),
        ...page,
      });
      return await mapWithPauses(found, (one) => ({ ...one, fields: echoes.reveal(one.fields, null) }));
    },
    isComplete: (parent) => isLaneComplete(db, scope, { connectionId, resourceKey: parent }),
    async partition(key) {
      return echoes.reveal((await findPartition(db, scope, { laneId, partition: key })) ?? neverRead, neverRead);
    },
    countMissing: (scan) => countMissing(db, scope, { ...scan, laneId, seq }),
    findMissing: (scan, page) => findMissing(db, scope, { ...scan, laneId, seq, ...page }),
    hidesMissing: (scan) => hidesMissing(db, scope, { ...scan, laneId, seq }),
    startsOver: () => startsOver(db, scope, laneId),
    noteReadsBefore: () => noteReadsBefore(db, scope, runId),
    countKnown: () => countKnown(db, scope, laneId),
    readSoFar: () => readSoFar(db, scope, runId),
    countReplaced: () => countReplaced(db, scope, { laneId, seq }),
    findDeleted: (page) => findDeleted(db, scope, { laneId, ...page }),
    async findListed({ drops, ...asked }) {
      const rows = await findListed(db, scope, { laneId, ...asked });
      return rows.map(({ cursor, deletedAt, ...row }) =>
        listedRecord(
          { ...row, cursor: echoes.reveal(cursor, null), deletedAt: echoes.reveal(deletedAt, null) },
          { seq, drops },
        ),
      );
    },
    countListed: (scan) => countListed(db, scope, { ...scan, laneId, seq }),
    findDue: (scan, page) => findDue(db, scope, { ...scan, laneId, seq, ...page }),
    isClean: () => isClean(db, scope, runId),
  };
}

/** The record of a row without masks. Nothing opens `lost`, nor what the customer has changed in a receipt. */
function unmasked({ sealed, externalId, ...row }: RequeuedRow, echoes: Pick<SealedEchoes, 'reveal'>): Requeued {
  if (sealed === null) return row;
  const opened: unknown = echoes.reveal({ sealed }, null);
  if (!isJsonObject(opened)) return { ...row, lostId: externalId };
  const { raw, each } = opened;
  return raw !== undefined && isJsonObject(each) ? { ...row, record: raw, each } : { ...row, lostId: externalId };
}

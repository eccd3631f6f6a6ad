/** What must hold: after each commit of the ledger, and at the end. A sentence for each breach. */
import { type Collection, groupOf, type SimApi } from './api.ts';
import { type DestinationLane, emptyLane, type SimDatabase } from './destination.ts';
import type { ControlState, StoredLane } from './memory/control-state.ts';

/** Compares what is known with what is. */
export interface Judge {
  /** What does not hold now. */
  now(state: ControlState): readonly string[];
  /** What does not hold although every run has ended and a last one has read each resource. */
  atEnd(state: ControlState): readonly string[];
}

/** A judge of one connection. */
export function createJudge(api: SimApi, database: SimDatabase): Judge {
  const lanesOf = (state: ControlState) =>
    state.lanes.all().map((lane) => {
      const name = `${lane.connectionId}/${lane.resourceKey}`;
      const delivered = database.lanes.get(name) ?? nothing;
      return { name: lane.resourceKey, lane, delivered, collection: collectionOf(api, lane) };
    });
  return {
    now: (state) =>
      lanesOf(state).flatMap(({ name, lane, delivered, collection }) => [
        ...unacknowledged(state, lane, delivered).map((id) => `${name}: ${id} is known, but was never delivered`),
        ...overclaimed(state, lane, { delivered, collection }).map(
          (id) => `${name}: the watermark is beyond ${id}, which was never delivered`,
        ),
        ...runningOf(state, lane),
      ]),
    atEnd: (state) => [
      ...lanesOf(state).flatMap(({ name, delivered, collection }) => lost(name, delivered, collection)),
      ...state.runs.all().flatMap(({ id, status, recordsIn, recordsOut, skipped, quarantined }) => {
        const settled = recordsOut + skipped + quarantined;
        const isDone = status === 'succeeded' || status === 'partial';
        return isDone && settled !== recordsIn
          ? [`${id} has read ${recordsIn} records and accounts for ${settled}`]
          : [];
      }),
    ],
  };
}

const nothing: DestinationLane = { ...emptyLane, rows: new Map(), applied: new Set() };

const collectionOf = ({ collections }: SimApi, { resourceKey }: StoredLane): Collection =>
  collections[resourceKey as keyof SimApi['collections']];

const unacknowledged = (state: ControlState, { id: laneId }: StoredLane, { applied }: DestinationLane) =>
  state.records
    .where((record) => record.laneId === laneId && record.status === 'delivered')
    .filter(({ externalId, hash }) => !applied.has(`${externalId}/${hash}`))
    .map(({ externalId }) => externalId);

/** Records below the watermark of which neither this nor a later version was delivered, although they are valid. */
function overclaimed(
  state: ControlState,
  { id: laneId, resourceKey }: StoredLane,
  { delivered, collection }: { readonly delivered: DestinationLane; readonly collection: Collection },
): readonly string[] {
  if (resourceKey === 'whole') return [];
  return state.partitions
    .where((row) => row.laneId === laneId && row.watermark !== null)
    .flatMap(({ partition, watermark }) => {
      const claimed = Number.isNaN(Number(watermark)) ? Date.parse(watermark ?? '') : Number(watermark);
      return [...collection.values()]
        .filter(({ id, at }) => at < claimed && (partition === '' || groupOf(id) === partition))
        .filter(({ id, version, name }) => isValid(name) && !delivered.applied.has(`${id}/${version}`))
        .map(({ id }) => id);
    });
}

function runningOf(state: ControlState, { id: laneId, resourceKey }: StoredLane): readonly string[] {
  const running = state.runs.where((run) => run.laneId === laneId && run.status === 'running');
  return running.length > 1 ? [`${resourceKey}: ${running.length} runs at once`] : [];
}

function lost(name: string, { rows }: DestinationLane, collection: Collection): readonly string[] {
  const missing = [...collection.values()].filter(
    ({ id, version, name: text }) => isValid(text) && rows.get(id)?.version !== version,
  );
  const left = name !== 'changes' ? [...rows.keys()].filter((id) => !collection.has(id)) : [];
  return [
    ...missing.map(({ id, version }) => `${name}: version ${version} of ${id} is lost`),
    ...left.map((id) => `${name}: ${id} was deleted at the API and is still there`),
  ];
}

const isValid = (name: string | number): boolean => typeof name === 'string';

/** What must hold: after each commit of the ledger, and at the end. A sentence for each breach. */
import { sentHash } from '../../src/core/destinations/webhook/parts.ts';
import { isDeletedFrom, type SimApi } from './api.ts';
import { type Counts, count } from './effects.ts';
import type { ControlState, StoredLane } from './memory/store/control-state.ts';
import { type Collection, groupOf, isLive } from './records.ts';
import { groupsIn } from './specs.ts';

/** Compares what is known with what is. */
export interface InvariantCheck {
  /** What does not hold now. */
  now(state: ControlState): readonly string[];
  /** Has a run record a batch of an earlier one: its records count as delivered or quarantined by this run, not as read. */
  carrying<Result>(state: ControlState, commit: () => Result): Result;
  /** What does not hold although every run has ended and a last one has read each resource. */
  atEnd(state: ControlState): readonly string[];
}

/** What the destination of a lane has, whatever its kind. */
export interface Delivered {
  readonly rows: ReadonlyMap<string, { readonly version: number }>;
  /** Every version that was ever acknowledged: `id/version`, and `id/hash`. */
  readonly applied: ReadonlySet<string>;
  /** Every version that was refused for good: `id/version`. */
  readonly refused: ReadonlySet<string>;
}

/** The check of one connection; `deliveredOf`: what its destination has of a resource. */
export function createInvariantCheck(
  api: SimApi,
  counts: Counts,
  deliveredOf: (resourceKey: string) => Delivered,
): InvariantCheck {
  /** Records that another run has read and that were acknowledged in this one, by run. */
  const carried = new Map<string, number>();
  const lanesOf = (state: ControlState) =>
    state.lanes.all().map((lane) => {
      const delivered = deliveredOf(lane.resourceKey);
      return { name: lane.resourceKey, lane, delivered, collection: collectionOf(api, lane) };
    });
  return {
    carrying(state, commit) {
      const before = accountedIn(state);
      const result = commit();
      for (const [runId, records] of accountedIn(state)) {
        const more = records - (before.get(runId) ?? 0);
        if (more === 0) continue;
        count(counts, 'batches of an earlier run recorded');
        carried.set(runId, (carried.get(runId) ?? 0) + more);
      }
      return result;
    },
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
      ...state.runs.all().flatMap(({ id, resourceKey, status, recordsIn, recordsOut, skipped, quarantined }) => {
        const accounted = recordsOut + skipped + quarantined;
        const isDone = status === 'succeeded' || status === 'partial';
        // A carried record that the run has read too counts once.
        const most = recordsIn + (carried.get(id) ?? 0);
        // Records that say that they are deleted count as neither.
        const isLess = accounted < recordsIn && resourceKey !== 'changes';
        return isDone && (isLess || accounted > most)
          ? [
              `${id} has read ${recordsIn} records and accounts for ${accounted}, of which it carries ${most - recordsIn}`,
            ]
          : [];
      }),
    ],
  };
}

/** What each run has delivered or quarantined. */
const accountedIn = (state: ControlState): ReadonlyMap<string, number> =>
  new Map(state.runs.all().map(({ id, recordsOut, quarantined }) => [id, recordsOut + quarantined]));

const collectionOf = ({ collections }: SimApi, { resourceKey }: StoredLane): Collection =>
  collections[resourceKey as keyof SimApi['collections']];

const unacknowledged = (state: ControlState, { id: laneId }: StoredLane, { applied }: Delivered) =>
  state.records
    // A rewind forgets the fingerprints.
    .where((record) => record.laneId === laneId && record.status === 'delivered' && record.hash !== '')
    .filter(({ externalId, hash }) => ![hash, sentHash(hash)].some((known) => applied.has(`${externalId}/${known}`)))
    .map(({ externalId }) => externalId);

/** Records below the watermark of which neither this nor a later version was delivered, although they are valid. */
function overclaimed(
  state: ControlState,
  { id: laneId, resourceKey }: StoredLane,
  { delivered, collection }: { readonly delivered: Delivered; readonly collection: Collection },
): readonly string[] {
  if (resourceKey === 'whole') return [];
  return state.partitions
    .where((row) => row.laneId === laneId && row.watermark !== null)
    .flatMap(({ partition, watermark }) => {
      const claimed = Number.isNaN(Number(watermark)) ? Date.parse(watermark ?? '') : Number(watermark);
      return [...collection.values()]
        .filter(({ id, at }) => at < claimed && groupsIn.get(partition)?.includes(groupOf(id)))
        .filter((record) => isLive(record) && isValid(record.name))
        .filter(({ id, version }) => ![delivered.applied, delivered.refused].some((of) => of.has(`${id}/${version}`)))
        .map(({ id }) => id);
    });
}

function runningOf(state: ControlState, { id: laneId, resourceKey }: StoredLane): readonly string[] {
  const running = state.runs.where((run) => run.laneId === laneId && run.status === 'running');
  const earlier = state.runs.where(
    (run) => run.laneId === laneId && run.status === 'queued' && running.some(({ seq }) => run.seq < seq),
  );
  return [
    ...(running.length > 1 ? [`${resourceKey}: ${running.length} runs at once`] : []),
    ...earlier.map(({ id }) => `${resourceKey}: a later run began before ${id}`),
  ];
}

function lost(name: string, { rows, refused }: Delivered, collection: Collection): readonly string[] {
  const missing = [...collection.values()].filter(
    (record) =>
      isLive(record) &&
      isValid(record.name) &&
      rows.get(record.id)?.version !== record.version &&
      !refused.has(`${record.id}/${record.version}`),
  );
  const left = isDeletedFrom(name) ? [...rows.keys()].filter((id) => !isLive(collection.get(id))) : [];
  return [
    ...missing.map(({ id, version }) => `${name}: version ${version} of ${id} is lost`),
    ...left.map((id) => `${name}: ${id} was deleted at the API and is still there`),
  ];
}

const isValid = (name: string | number): boolean => typeof name === 'string';

/** The customer's database: rows and the checkpoint of a lane change in one transaction, and the greatest fence wins. */

import type { Destination, LaneClaim, OpenedLane } from '../../src/core/destinations/destination.ts';
import { AppError, takenOver } from '../../src/core/errors.ts';
import type { Batch } from '../../src/core/model/batch.ts';
import { type Counts, count, type Effect } from './effects.ts';

/** What the destination has of a lane. */
interface DestinationLane {
  fence: number;
  /** Grows when the table is dropped and made again. */
  table: number;
  /** The table that the last batch went into. */
  filled: number;
  /** Of the last claim. */
  generation: string;
  checkpoint: { readonly runId: string; readonly batchNo: number; readonly receipt: string } | null;
  /** By external id. */
  readonly rows: Map<string, DestinationRow>;
  /** Every version that was ever applied: `id/version`, and `id/hash`. */
  readonly applied: Set<string>;
  /** It refuses none. */
  readonly refused: ReadonlySet<string>;
}

/** A lane that nobody has claimed. */
const emptyLane = { fence: 0, table: 1, filled: 0, generation: '', checkpoint: null } as const;

interface Held {
  readonly claim: LaneClaim;
  /** The table that the claim has found. */
  readonly table: number;
}

/** A row as it was applied. */
export interface DestinationRow {
  readonly version: number;
  readonly hash: string | null;
}

/** A database without lanes. */
export interface SimDatabase {
  deliveredOf(lane: string): DestinationLane;
  /** What must never happen and did. */
  readonly violations: string[];
  /** A connection to it. */
  connect(): Destination;
  /** The customer drops a table; whoever opens the lane next makes it again. */
  drop(lane: string): void;
  /** The customer makes a copy of a table. @returns puts it in place of the table; false: that was dropped meanwhile. */
  copy(lane: string): () => boolean;
}

/** A database; `mayRepeat`: whether a run may deliver what is there. */
export function createDatabase(effect: Effect, counts: Counts, mayRepeat: (runId: string) => boolean): SimDatabase {
  const lanes = new Map<string, DestinationLane>();
  const violations: string[] = [];
  const laneOf = (lane: string): DestinationLane => {
    const known = lanes.get(lane) ?? { ...emptyLane, rows: new Map(), applied: new Set(), refused: new Set<string>() };
    lanes.set(lane, known);
    return known;
  };
  const route = (name: string) =>
    ({
      name,
      faults: 0.03,
      latencyMs: [1, 40],
      slow: [0.02, 8000],
      failure: () => new AppError('destination_unavailable', 'The destination could not be reached.'),
    }) as const;

  const apply = ({ claim, table }: Held, batch: Batch): void => {
    const lane = laneOf(claim.lane);
    if (lane.fence !== claim.fence) {
      count(counts, 'attempts fenced off at the destination');
      throw takenOver();
    }
    if (lane.table !== table) throw new AppError('destination_unavailable', 'The table does not exist any more.');
    for (const { externalId, hash, data } of batch.rows) {
      const version = Number(data['version']);
      const before = lane.rows.get(externalId);
      if (before?.hash === hash && !mayRepeat(batch.runId))
        violations.push(`${claim.lane}: ${externalId} version ${version} is delivered twice`);
      lane.rows.set(externalId, { version, hash });
      lane.applied.add(`${externalId}/${version}`).add(`${externalId}/${hash}`);
    }
    for (const { externalId } of batch.tombstones) lane.rows.delete(externalId);
    lane.filled = table;
    lane.checkpoint = { runId: batch.runId, batchNo: batch.batchNo, receipt: batch.receipt([]) };
    count(counts, 'batches applied');
  };

  return {
    deliveredOf: laneOf,
    violations,
    connect() {
      let held: Held | null = null;
      return {
        check: async () => 'reachable',
        async open(claim) {
          return await effect(route('claim at the destination'), (): OpenedLane => {
            const lane = laneOf(claim.lane);
            if (lane.fence > claim.fence) throw takenOver();
            lane.fence = claim.fence;
            if (lane.generation !== claim.generation) lane.checkpoint = null;
            lane.generation = claim.generation;
            const { checkpoint, table, filled } = lane;
            held = { claim, table };
            const isFresh = checkpoint === null || filled !== table;
            return isFresh ? { fresh: true, checkpoint: null } : { fresh: false, checkpoint };
          });
        },
        async leftovers({ after, limit }) {
          const { lane } = held?.claim ?? { lane: '' };
          return await effect(route('rows of the destination'), () =>
            [...laneOf(lane).rows.keys()]
              .toSorted()
              .filter((id) => after === null || id > after)
              .slice(0, limit),
          );
        },
        prepare() {},
        async apply(batch) {
          const lane = held;
          if (!lane) throw new Error('apply needs a lane that open has claimed');
          await effect(route('batch at the destination'), () => apply(lane, batch));
          return [];
        },
        [Symbol.asyncDispose]: async () => {},
      };
    },
    copy(name) {
      const { table, rows } = laneOf(name);
      const copied = [...rows];
      return () => {
        const lane = laneOf(name);
        if (lane.table !== table) return false;
        lane.rows.clear();
        for (const [id, row] of copied) lane.rows.set(id, row);
        count(counts, 'tables restored');
        return true;
      };
    },
    drop(name) {
      const lane = lanes.get(name);
      if (!lane) return;
      lane.rows.clear();
      lane.table += 1;
      count(counts, 'tables dropped');
    },
  };
}

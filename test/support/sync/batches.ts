import type { Column, LaneClaim, TargetTable, WrittenColumns } from '../../../src/core/destinations/destination.ts';
import type { Batch, Deliverable, RejectedRow } from '../../../src/core/model/batch.ts';
import { anyMemory } from '../../../src/core/model/response-memory.ts';
import type { ColumnType } from '../../../src/core/spec/schema/column-type.ts';

/** A claim on lane `con_1/items` for table `items`. */
export const claimOf = (schema: string, overrides: Partial<LaneClaim & TargetTable> = {}): LaneClaim => ({
  lane: overrides.lane ?? 'con_1/items',
  fence: overrides.fence ?? 1,
  generation: overrides.generation ?? '',
  connectionId: overrides.connectionId ?? 'con_1',
  target: {
    schema,
    table: overrides.table ?? 'items',
    columns: overrides.columns ?? [],
    evolve: overrides.evolve ?? 'add_columns',
    mode: overrides.mode ?? 'upsert',
  },
  written: overrides.written ?? rememberedColumns(),
  held: overrides.held ?? anyMemory.open(),
});

/** The columns of a lane, kept in memory; null: nothing was noted yet. */
export function rememberedColumns(noted: readonly string[] | null = null): WrittenColumns {
  let names = noted;
  return {
    find: async () => names,
    async add(more) {
      names = [...(names ?? []), ...more];
    },
  };
}

/** A batch whose receipt lists the ids refused. */
export const batchOf = (rows: readonly Deliverable[], overrides: Partial<Batch> = {}): Batch => ({
  runId: 'run_1',
  batchNo: 1,
  rows,
  allNew: false,
  tombstones: [],
  completesGeneration: false,
  receipt: receiptOf,
  draft: async () => '',
  ...overrides,
});

/** What {@link batchOf} leaves in the checkpoint row. */
export const receiptOf = (rejected: readonly RejectedRow[]): string =>
  JSON.stringify({ rejected: rejected.map(({ externalId }) => externalId) });

/** One record. */
export const rowOf = (externalId: string, data: Deliverable['data'] = {}): Deliverable => ({
  externalId,
  hash: null,
  data,
});

/** A nullable column. */
export const columnOf = (name: string, type: ColumnType | ColumnType['kind']): Column => ({
  name,
  type: typeof type === 'string' ? plainType(type) : type,
  nullable: true,
});

function plainType(kind: ColumnType['kind']): ColumnType {
  return kind === 'numeric' ? { kind, precision: 18, scale: 4 } : { kind };
}

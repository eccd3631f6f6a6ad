import type { WriteMode } from '../../../src/core/destinations/destination.ts';
import type { Batch } from '../../../src/core/model/batch.ts';
import type { DeliveryPlace } from '../destinations/destination-kind.ts';
import { batchOf, claimOf, rowOf } from './batches.ts';

type Claimed = NonNullable<Parameters<typeof claimOf>[1]> & { readonly orgId?: string };

/**
 * An attempt of its own that applies one batch and ends, in mode replace the last of its read. True: the lane was new.
 */
export async function deliver(
  place: DeliveryPlace,
  { orgId = 'org_1', ...claim }: Claimed = {},
  overrides: Partial<Batch> = {},
): Promise<boolean> {
  await using destination = place.connect({ orgId });
  const { fresh, checkpoint } = await destination.open(claimOf(place.schema, claim));
  const batchNo = (checkpoint?.batchNo ?? 0) + 1;
  await destination.apply(batchOf([], { batchNo, completesGeneration: claim.mode === 'replace', ...overrides }));
  return fresh;
}

type Opening = Parameters<typeof claimOf>[1] & { readonly rows?: Parameters<typeof batchOf>[0] };

/** An attempt of its own: opens, applies the rows if there are any to apply, ends. True: the lane was new. */
export async function openAnew(place: DeliveryPlace, { rows, ...claim }: Opening): Promise<boolean> {
  await using destination = place.connect();
  const { fresh, checkpoint } = await destination.open(claimOf(place.schema, claim));
  if (rows) await destination.apply(batchOf(rows, { batchNo: (checkpoint?.batchNo ?? 0) + 1 }));
  return fresh;
}

/** Rows 1 to 3 that mode update needs, written for another resource; nothing in other modes. */
export async function seedRows(
  place: DeliveryPlace,
  { mode, connectionId = 'con_1' }: { readonly mode: WriteMode; readonly connectionId?: string },
): Promise<void> {
  if (mode !== 'update') return;
  const rows = ['1', '2', '3'].map((id) => rowOf(id, { owned: 'x' }));
  await deliver(place, { lane: `${connectionId}/owner`, connectionId }, { rows });
}

/** `{external id} {value}` of every row of table `items`. */
export async function itemValues(place: DeliveryPlace, column: string): Promise<readonly string[]> {
  return (await place.rows('items')).map((row) => `${row['_external_id']} ${row[column]}`);
}

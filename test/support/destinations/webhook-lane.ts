import type { Deliverable } from '../../../src/core/model/batch.ts';
import { claimOf } from '../sync/batches.ts';
import { pageBatch } from '../sync/page-batch.ts';
import type { WebhookPlace } from './webhook-kind.ts';

/** Options of the destination, and what the attempt claims. */
export type SendOptions = Readonly<Record<string, unknown>> & { readonly claim?: Parameters<typeof claimOf>[1] };

/** Opens the lane and applies a batch. */
export async function sendRows(
  place: WebhookPlace,
  rows: readonly Deliverable[],
  { claim = {}, ...options }: SendOptions = {},
) {
  await using destination = place.connect(options);
  await destination.open(claimOf('', claim));
  return await destination.apply(pageBatch(rows));
}

/** What the next attempt finds, once it has sent what was left. */
export async function reopenLane(place: WebhookPlace, fence: number, options?: SendOptions) {
  await using destination = place.connect(options);
  return await destination.open(claimOf('', { fence }));
}

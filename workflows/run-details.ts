/** Texts about a run for operators in the Temporal UI; replay does not depend on them. */
import type { ChunkProgress, ChunkResult, SyncRunInput } from './contract.ts';

interface Totals {
  readonly pages: number;
  readonly records: number;
}

export const describe = (input: SyncRunInput, { pages, records }: Totals, now: string): string =>
  `**${input.resourceKey}** of \`${input.connectionId}\`: ${pages} pages, ${records} records; ${now}.`;

export const waitsForLane = 'Waiting for an earlier run of this resource.';

export const beginOf = ({ pages }: Totals): string =>
  pages === 0 ? 'opens the run and requests the first page' : 'reads the next page';

export const summaryOf = ({ resourceKey }: SyncRunInput, { pages }: Totals): string =>
  `${resourceKey}: from page ${pages + 1}`;

export const nextOf = ({ waitsFor, pages }: ChunkProgress): string => {
  if (waitsFor === 'source') return `waits for page ${pages + 1} of the API`;
  if (waitsFor === 'rate_limit') return `rate limited; requests page ${pages + 1} after the rate limit`;
  return waitsFor === 'destination' ? 'waits for the destination to accept a batch' : 'reads the next page';
};

export const endOf = (chunk: ChunkResult): string => {
  if (chunk.done) return 'read completely';
  return chunk.waitMs > 0 ? waitOf(chunk) : 'reads the next page';
};

export function waitOf({ waitMs, waitsFor }: ChunkResult): string {
  const seconds = Math.ceil(waitMs / 1000);
  if (waitsFor === 'report') return `the report of the API is not ready; next check in ${seconds} s`;
  if (waitsFor === 'memory') return `other large responses take the memory of the worker; retrying in ${seconds} s`;
  return waitsFor === 'destination'
    ? `the destination requests a pause; continues in ${seconds} s`
    : `rate limited; retrying in ${seconds} s`;
}

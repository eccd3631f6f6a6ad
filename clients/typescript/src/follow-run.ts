import type { RunRow } from './api.gen.ts';
import type { Client } from './client.ts';
import { sleep } from './retry.ts';

/** How a run is followed. */
export interface FollowOptions {
  readonly signal?: AbortSignal;
  /** Time between two reads, ms. Begins at a quarter of a second and grows to this. 5,000 unless given. */
  readonly pollMsMax?: number;
}

/** The row of a run now and after each change, until it has ended: the last one is final. */
export async function* followRun(
  client: Pick<Client, 'get'>,
  id: string,
  { signal, pollMsMax = 5000 }: FollowOptions = {},
): AsyncGenerator<RunRow, void> {
  let shown = '';
  for (let pollMs = 250; ; pollMs = Math.min(pollMs * 1.5, pollMsMax)) {
    const run = await client.get('/runs/{id}', { params: { id }, ...(signal ? { signal } : {}) });
    const text = JSON.stringify(run);
    if (text !== shown) yield run;
    if (run.finishedAt !== null) return;
    shown = text;
    await sleep(Math.min(pollMs, pollMsMax), signal);
  }
}

/** The final row of a run, once it has ended. */
export async function finishedRun(client: Pick<Client, 'get'>, id: string, options?: FollowOptions): Promise<RunRow> {
  let last: RunRow | undefined;
  for await (const run of followRun(client, id, options)) last = run;
  if (last === undefined) throw new Error('A run that is followed has a row.');
  return last;
}

/** Sends requests as fast as the responses come, and says how many that were. */
import { Pool, request } from 'undici';
import { median, percentile } from '../support/figures.ts';
import { runJobs } from '../support/partner.ts';

/** What is sent. */
export interface LoadOptions {
  readonly origin: string;
  readonly method: 'GET' | 'POST';
  /** Asked for in turn. */
  readonly paths: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Requests under way at any time, each on a socket of its own. */
  readonly inFlight: number;
  readonly seconds: number;
  /** Any other status is an error. */
  readonly status: number;
}

export type LoadJobs = typeof jobs;
const jobs = runJobs({
  /** The body of one response. */
  read: async ({ origin, path, headers }: Pick<LoadOptions, 'origin' | 'headers'> & { readonly path: string }) =>
    (await request(new URL(path, origin), { headers })).body.text(),
  /** Latencies in ms. */
  async send({ origin, inFlight, seconds, paths, ...sent }: LoadOptions) {
    await using stack = new AsyncDisposableStack();
    const pool = stack.adopt(new Pool(origin, { connections: inFlight }), (opened) => opened.close());
    const latencies: number[] = [];
    const startedAt = performance.now();
    const endsAt = startedAt + seconds * 1000;
    let asked = 0;
    const sendInTurn = async (): Promise<void> => {
      while (performance.now() < endsAt) {
        const path = paths[asked % paths.length] ?? '/';
        asked += 1;
        latencies.push(await sendOne(pool, path, sent));
      }
    };
    await Promise.all(Array.from({ length: inFlight }, sendInTurn));
    const elapsed = (performance.now() - startedAt) / 1000;
    return { perSecond: latencies.length / elapsed, p50: median(latencies), p99: percentile(latencies, 0.99) };
  },
});

type Sent = Pick<LoadOptions, 'method' | 'headers' | 'body' | 'status'>;

async function sendOne(pool: Pool, path: string, { method, headers, body, status }: Sent): Promise<number> {
  const sentAt = performance.now();
  const reply = await pool.request({ path, method, headers, ...(body !== undefined && { body }) });
  const text = await reply.body.text();
  if (reply.statusCode !== status) throw new Error(`${method} ${path}: ${reply.statusCode} ${text}`);
  return performance.now() - sentAt;
}

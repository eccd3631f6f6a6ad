/** A customer's webhook receiver: checks every signature, drops ids that it knows, and applies what it accepts. */
import { hash } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { startUpstream, type Upstream } from '../upstream/upstream.ts';

/** One record as it came. */
export interface ReceivedRecord {
  readonly op: string;
  readonly externalId: string;
  readonly hash?: string;
  readonly data?: Readonly<Record<string, unknown>>;
}

/** The envelope of a request. */
interface ReceivedBatch {
  readonly id: string;
  readonly type: string;
  readonly orgId: string;
  readonly connectionId: string;
  readonly runId: string;
  readonly resourceKey: string;
  readonly specVersion: string;
  readonly batch: { readonly sequence: number; readonly part: string; readonly count: number };
  readonly records: readonly ReceivedRecord[];
}

/** One request. */
export interface Post {
  /** From 1, repeats included. */
  readonly nth: number;
  readonly id: string;
  readonly sha256: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly batch: ReceivedBatch;
}

/** What a test responds; only a 2xx is applied. */
export interface Reply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** A running receiver. */
export interface Receiver extends AsyncDisposable {
  readonly url: string;
  readonly hostPort: string;
  /** Every verified request whose response was decided, in order. */
  readonly posts: readonly Post[];
  /** Requests that no library would take. */
  readonly unverified: readonly string[];
  /** Of the server: its gates and faults. */
  readonly upstream: Upstream;
  /** Decides the responses from now on; undefined: 200 without a body. */
  reply(script: (post: Post) => Reply | undefined): void;
  /** What it holds of a resource, in the order of arrival: one row per record, in mode append one per version. */
  rows(resourceKey: string): readonly ReceivedRow[];
}

/** A row as a receiver keeps it. */
interface ReceivedRow {
  readonly connectionId: string;
  readonly externalId: string;
  readonly runId: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Starts it. `secret` is what the service signs with. */
export async function startReceiver(secret: string): Promise<Receiver> {
  const webhook = secret.startsWith('whsec_')
    ? new Webhook(secret)
    : new Webhook(Buffer.from(secret), { format: 'raw' });
  const posts: Post[] = [];
  const unverified: string[] = [];
  const applied = new Set<string>();
  const tables = new Map<string, Map<string, ReceivedRow>>();
  let versions = 0;
  let script: (post: Post) => Reply | undefined = () => undefined;

  const apply = ({ resourceKey, connectionId, runId, records }: ReceivedBatch, refused: ReadonlySet<string>) => {
    const rows = tables.get(resourceKey) ?? new Map<string, ReceivedRow>();
    tables.set(resourceKey, rows);
    for (const { op, externalId, data = {} } of records) {
      if (refused.has(externalId)) continue;
      const row = { connectionId, externalId, runId, data };
      const key = JSON.stringify([connectionId, externalId]);
      const held = rows.get(key);
      if (op === 'update') {
        if (held) rows.set(key, { ...row, data: { ...held.data, ...data } });
        continue;
      }
      if (op === 'append') {
        versions += 1;
        rows.set(`${key} ${versions}`, row);
        continue;
      }
      rows.delete(key);
      if (op === 'upsert') rows.set(key, row);
      else for (const version of rows.keys()) if (version.startsWith(`${key} `)) rows.delete(version);
    }
  };

  const upstream = await startUpstream({
    reply: ({ headers, body, nth }) => {
      try {
        webhook.verify(body, headers);
      } catch (error) {
        unverified.push(`${nth}: ${String(error)}`);
        return { status: 401, body: '' };
      }
      const batch: ReceivedBatch = JSON.parse(body);
      const post = { nth, id: headers['webhook-id'] ?? '', sha256: hash('sha256', body), headers, batch };
      posts.push(post);
      const { status = 200, headers: own = {}, body: reply } = script(post) ?? {};
      const isNew = !applied.has(post.id);
      if (status < 300) {
        applied.add(post.id);
        if (isNew) apply(batch, refusedIn(reply));
      }
      return { status, headers: own, body: reply === undefined ? '' : JSON.stringify(reply) };
    },
  });

  return {
    url: `${upstream.url}/hook`,
    hostPort: upstream.hostPort,
    posts,
    unverified,
    upstream,
    reply: (next) => {
      script = next;
    },
    rows: (resourceKey) => [...(tables.get(resourceKey)?.values() ?? [])],
    [Symbol.asyncDispose]: () => upstream[Symbol.asyncDispose](),
  };
}

function refusedIn(reply: unknown): ReadonlySet<string> {
  const { rejected = [] } = (reply ?? {}) as { readonly rejected?: readonly { readonly externalId: string }[] };
  return new Set(rejected.map(({ externalId }) => externalId));
}

/** An org's webhook receiver: writes down every request, and responds as the test says. */
import { hash } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { eventually } from '../service/eventually.ts';
import type { UpstreamResponse } from '../upstream/paging.ts';
import { startUpstream, type Upstream } from '../upstream/upstream.ts';

/** One request, as it came. */
export interface ReceivedEvent {
  /** From 1, repeats included. */
  readonly nth: number;
  /** The part of the path behind `/`: one receiver serves several endpoints. */
  readonly endpoint: string;
  readonly id: string;
  readonly type: string;
  readonly body: string;
  readonly sha256: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds since the epoch. */
  readonly receivedAt: number;
}

/** A running receiver. */
export interface EventReceiver extends AsyncDisposable {
  /** The address of an endpoint of that name. */
  url(endpoint: string): string;
  readonly hostPort: string;
  /** Requests to an endpoint so far, in the order of arrival. */
  events(endpoint: string): readonly ReceivedEvent[];
  /** As {@link events}, once there are so many. */
  received(endpoint: string, count: number): Promise<readonly ReceivedEvent[]>;
  /** Of the server: its gates and faults. */
  readonly upstream: Upstream;
  /** Decides what an endpoint responds from now on; undefined: 204. */
  reply(endpoint: string, script: (event: ReceivedEvent) => UpstreamResponse | undefined): void;
  /** Makes an endpoint respond with the statuses in turn, then with 204. */
  replyInTurn(endpoint: string, ...statuses: readonly number[]): void;
}

/** Starts it. */
export async function startEventReceiver(): Promise<EventReceiver> {
  const received: ReceivedEvent[] = [];
  const scripts = new Map<string, (event: ReceivedEvent) => UpstreamResponse | undefined>();
  const upstream = await startUpstream({
    reply: ({ nth, url, headers, body, receivedAt }) => {
      const endpoint = url.slice(1);
      const id = headers['webhook-id'] ?? '';
      const type = headers['x-service-event-type'] ?? '';
      const event = { nth, endpoint, id, type, headers, body, sha256: hash('sha256', body), receivedAt };
      received.push(event);
      return scripts.get(endpoint)?.(event) ?? { status: 204, body: '' };
    },
  });
  const events = (endpoint: string) => received.filter((event) => event.endpoint === endpoint);
  return {
    url: (endpoint) => `${upstream.url}/${endpoint}`,
    hostPort: upstream.hostPort,
    events,
    received: (endpoint, count) =>
      eventually(`${count} requests to ${endpoint}`, async () => {
        const found = events(endpoint);
        return found.length >= count && found;
      }),
    upstream,
    reply: (endpoint, script) => void scripts.set(endpoint, script),
    replyInTurn(endpoint, ...statuses) {
      const left = [...statuses];
      scripts.set(endpoint, () => {
        const status = left.shift();
        return status === undefined ? undefined : { status, body: `${status}` };
      });
    },
    [Symbol.asyncDispose]: () => upstream[Symbol.asyncDispose](),
  };
}

/** The parsed body, as the reference library gives it out. Throws when it does not take the request. */
export const verified = ({ body, headers }: ReceivedEvent, secret: string): unknown =>
  new Webhook(secret).verify(Buffer.from(body), headers);

/**
 * One POST to an org's webhook endpoint. Unlike the guarded client of runs it does not retry, follow redirects or wait. Every
 * request has a row in the delivery log, written before it, and the log decides the next step.
 *
 * One dispatcher per endpoint: no socket ever carries the bytes of two orgs, not even to the same origin. It outlives the drains
 * of a busy endpoint, so that TLS is not negotiated for each event.
 */
import { Agent } from 'undici';
import { collectBytes } from '../collected-bytes.ts';
import { AppError } from '../errors.ts';
import { observations } from '../observations.ts';
import { startDeadline } from './deadline.ts';
import type { EgressGuard } from './egress.ts';
import { flatHeaders } from './flat-headers.ts';
import { headerBytesMax } from './header-limit.ts';
import { type PostErrorCode, postErrorOf } from './post-error.ts';

export interface WebhookPost {
  readonly url: URL;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** For request and response together. */
  readonly timeoutMs: number;
}

export interface PostOutcome {
  /** `null` if no response began. */
  readonly statusCode: number | null;
  /** Reason of a failure; `null` for a complete response with a status of 2xx. */
  readonly errorCode: PostErrorCode | null;
  /** Names in lower case, repeated headers joined with `, `. Empty without a response. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * The first 32 KiB of the response as text: more than the log shows, so that a secret across the log's cut can be masked whole.
   */
  readonly body: string;
  readonly durationMs: number;
}

/** Never throws for a receiver's behavior. */
export type WebhookSender = (endpointId: string, post: WebhookPost) => Promise<PostOutcome>;

/** A longer response closes the socket. */
const readBytesMax = 65_536;
const keptBytesMax = 32_768;
/** Most servers close idle sockets after 5 s or more. */
const keepAliveMs = 4000;
/** Where the server says how long it keeps idle sockets. */
const keepAliveMsMax = 30_000;
/** Milliseconds without a request after which an endpoint's dispatcher is dropped. */
const idleMs = 60_000;

/** A process needs one sender; its idle sockets do not keep the process alive. */
export function createWebhookSender(egress: EgressGuard): WebhookSender {
  const dispatchers = new Map<string, { readonly agent: Agent; readonly idle: NodeJS.Timeout }>();
  const forget = (endpointId: string): void => {
    const entry = dispatchers.get(endpointId);
    dispatchers.delete(endpointId);
    void entry?.agent.close();
  };
  const agentOf = (endpointId: string): Agent => {
    const known = dispatchers.get(endpointId);
    if (known) {
      known.idle.refresh();
      return known.agent;
    }
    const agent = createAgent(egress);
    dispatchers.set(endpointId, { agent, idle: setTimeout(() => forget(endpointId), idleMs).unref() });
    return agent;
  };
  return (endpointId, post) => send(agentOf(endpointId), egress, post);
}

async function send(agent: Agent, egress: EgressGuard, post: WebhookPost): Promise<PostOutcome> {
  const startedAt = performance.now();
  using deadline = startDeadline(never, post.timeoutMs);
  const result: { statusCode: number | null; headers: Record<string, string>; body: string } = {
    statusCode: null,
    headers: {},
    body: '',
  };
  let errorCode: PostErrorCode | null = null;
  try {
    egress.checkUrl(post.url);
    const response = await agent.request({
      origin: post.url.origin,
      path: post.url.pathname + post.url.search,
      method: 'POST',
      headers: post.headers,
      body: post.body,
      signal: deadline.signal,
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    result.statusCode = response.statusCode;
    result.headers = flatHeaders(response.headers);
    result.body = await readBody(response.body);
    errorCode = classifyStatus(response.statusCode);
  } catch (error) {
    if (error instanceof AppError && error.code !== 'egress_blocked') throw error;
    errorCode = postErrorOf(error, { expired: deadline.expired(), responded: result.statusCode !== null });
  }
  const durationMs = Math.round(performance.now() - startedAt);
  observations.eventSent.publish({ result: errorCode ?? 'delivered', statusCode: result.statusCode, durationMs });
  return { ...result, errorCode, durationMs };
}

/** Only the deadline ends a request: a stopping worker lets it finish. */
const never = new AbortController().signal;

function classifyStatus(status: number): PostErrorCode | null {
  if (status >= 200 && status < 300) return null;
  return status >= 300 && status < 400 ? 'redirect' : 'http_status';
}

/** Leaving the loop early closes the socket. */
async function readBody(body: AsyncIterable<unknown>): Promise<string> {
  const kept = collectBytes();
  let bytes = 0;
  for await (const chunk of body) {
    if (!(chunk instanceof Buffer)) throw new TypeError('The body arrived as text.');
    if (bytes < keptBytesMax) kept.add(chunk.subarray(0, keptBytesMax - bytes));
    bytes += chunk.length;
    if (bytes >= readBytesMax) break;
  }
  return kept.whole().toString('utf8');
}

const createAgent = (egress: EgressGuard): Agent =>
  new Agent({
    allowH2: false,
    connect: egress.connector(),
    keepAliveTimeout: keepAliveMs,
    keepAliveMaxTimeout: keepAliveMsMax,
    maxHeaderSize: headerBytesMax,
    pipelining: 1,
  });

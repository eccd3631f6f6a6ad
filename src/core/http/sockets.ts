import { setImmediate as nextTurn } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { Agent, type Dispatcher } from 'undici';
import type { EgressGuard } from './egress.ts';
import { headerBytesMax } from './header-limit.ts';

/** Disposing ends the requests in progress. */
export interface Sockets extends AsyncDisposable {
  readonly dispatcher: Dispatcher;
}

export interface SocketCache {
  /** Reuses the sockets that the connection's last run left open. */
  open(connectionId: string): Sockets;
}

/** Milliseconds without a request; runs no further apart share sockets. */
const idleMs = 30_000;
/** A process may have a thousand files open. */
const keptMax = 200;
const endedMax = 10_000;

/** Only to targets that the guard allows. */
export function openSockets(egress: EgressGuard): Sockets {
  const agent = createAgent(egress);
  return { dispatcher: agent, [Symbol.asyncDispose]: () => agent.destroy() };
}

/**
 * Sockets outlive a run if the connection also ran shortly before, so that a sync every few seconds avoids handshakes. No two
 * connections share a socket, nor do two runs at once. A run that ends during a request closes its own.
 */
export function createSocketCache(egress: EgressGuard): SocketCache {
  const idle = new LRUCache<string, Agent>({
    max: keptMax,
    ttl: idleMs,
    ttlAutopurge: true,
    dispose: (agent, _connectionId, reason) => {
      if (reason !== 'delete') void agent.destroy();
    },
  });
  const ended = new LRUCache<string, true>({ max: endedMax, ttl: idleMs });
  return {
    open(connectionId) {
      const runsOften = ended.has(connectionId);
      const agent = idle.get(connectionId) ?? createAgent(egress);
      idle.delete(connectionId);
      return {
        dispatcher: agent,
        async [Symbol.asyncDispose]() {
          ended.set(connectionId, true);
          // A response arrives a moment before its socket is free.
          await nextTurn();
          if (runsOften && isIdle(agent)) idle.set(connectionId, agent);
          else await agent.destroy();
        },
      };
    },
  };
}

const isIdle = ({ stats }: Agent): boolean => Object.values(stats).every(({ size }) => size === 0);

/** Sockets outlive a page, so the pages of a run share one. */
const createAgent = (egress: EgressGuard): Agent =>
  new Agent({
    allowH2: false,
    connect: egress.connector(),
    keepAliveMaxTimeout: idleMs,
    keepAliveTimeout: idleMs,
    maxHeaderSize: headerBytesMax,
    pipelining: 1,
  });

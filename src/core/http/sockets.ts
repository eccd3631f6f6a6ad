import { setImmediate as nextTurn } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { Agent, type Dispatcher } from 'undici';
import type { EgressGuard } from './egress.ts';
import { headerBytesMax } from './header-limit.ts';

/** What a client sends through. Disposing ends what is under way. */
export interface Sockets extends AsyncDisposable {
  readonly dispatcher: Dispatcher;
}

/** The sockets of connections between their runs. */
export interface SocketCache {
  /** Opens those of a connection: the ones that its last run left open, or new ones. */
  open(connectionId: string): Sockets;
}

/** The milliseconds for which sockets stay open without a request; runs that are at most so far apart share them. */
const idleMs = 30_000;
/** Connections whose sockets stay open at once: a process may have a thousand files open. */
const keptMax = 200;
/** Connections of which the end of the last run is known. */
const endedMax = 10_000;

/** Opens the sockets of one client: to what the guard lets through, and to nothing else. */
export function openSockets(egress: EgressGuard): Sockets {
  const agent = createAgent(egress);
  return { dispatcher: agent, [Symbol.asyncDispose]: () => agent.destroy() };
}

/**
 * Sockets outlive a run where the connection ran a moment before as well, so that a sync every few seconds is spared the
 * handshakes. No two connections share a socket, nor do two runs at once. A run that ends while a request is under way
 * closes its own.
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

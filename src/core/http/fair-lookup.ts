/**
 * A lookup takes a thread until the system's resolver times out, which can be long after the caller did. An org may hold a few of
 * the threads, however many names of silent servers it has. For a lookup without a known org, the limit applies to the domain.
 */

import { createTurns } from '../work/turns.ts';
import { orgOfWork } from '../work-ids.ts';

/** In the resolver's order. Throws with `code` `ENOTFOUND` if the name has no addresses. */
export type Lookup = (host: string) => Promise<readonly string[]>;

/** Concurrent lookups, in all and for one org or domain. libuv gives half of its threads (UV_THREADPOOL_SIZE) to lookups. */
const lookupsAtOnce = { max: 24, maxEach: 4 };
/** Names of one org or domain. */
const waitingMax = 256;

/** Asks once for a name however many callers want it. */
export function createFairLookup(lookup: Lookup): Lookup {
  const turns = createTurns(lookupsAtOnce);
  /** By host. */
  const inProgress = new Map<string, Promise<readonly string[]>>();
  /** By org or domain. */
  const waiting = new Map<string, Promise<readonly string[]>>();
  const namesOf = new Map<string, number>();

  const begin = (host: string): Promise<readonly string[]> => {
    const found = lookup(host).finally(() => inProgress.delete(host));
    inProgress.set(host, found);
    return found;
  };
  const inTurn = async (host: string, owner: string): Promise<readonly string[]> => {
    const giveBack = await turns.take(owner);
    try {
      return await (inProgress.get(host) ?? begin(host));
    } finally {
      giveBack();
      waiting.delete(keyOf(host, owner));
      const left = (namesOf.get(owner) ?? 1) - 1;
      if (left > 0) namesOf.set(owner, left);
      else namesOf.delete(owner);
    }
  };

  return (host) => {
    const owner = orgOfWork() || domainOf(host);
    // A waiting lookup is shared within its org only: it may wait behind silent names of that org.
    const earlier = inProgress.get(host) ?? waiting.get(keyOf(host, owner));
    if (earlier) return earlier;
    const names = namesOf.get(owner) ?? 0;
    if (names >= waitingMax) return Promise.reject(busy());
    namesOf.set(owner, names + 1);
    const found = inTurn(host, owner);
    waiting.set(keyOf(host, owner), found);
    return found;
  };
}

const keyOf = (host: string, owner: string): string => JSON.stringify([host, owner]);

/** Below these, country domains are registered. */
const secondLevels = new Set(['ac', 'co', 'com', 'edu', 'go', 'gob', 'gov', 'ne', 'net', 'nom', 'or', 'org']);

/** The registered domain, as far as its form shows. */
function domainOf(host: string): string {
  const labels = host.toLowerCase().split('.').filter(Boolean);
  const isOfCountry = labels.at(-1)?.length === 2 && secondLevels.has(labels.at(-2) ?? '');
  return labels.slice(isOfCountry ? -3 : -2).join('.');
}

const busy = (): Error =>
  Object.assign(new Error('Too many names are looked up at once'), {
    syscall: 'getaddrinfo',
    code: 'EAI_AGAIN',
  });

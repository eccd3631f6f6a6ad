/**
 * Lookups of names take a thread each until the system's resolver gives up, which can be long after the caller did. An org may
 * hold a few of the threads, however many names of silent servers it has. Where nobody says for whom a name is looked up, a
 * domain may.
 */

import { createTurns } from '../work/turns.ts';
import { orgOfWork } from '../work-ids.ts';

/** Resolves a host name to its addresses, in the resolver's order. Throws with `code` `ENOTFOUND` when there are none. */
export type Lookup = (host: string) => Promise<readonly string[]>;

/** Lookups at the same moment, and those of one org or domain. libuv gives half of its threads (UV_THREADPOOL_SIZE) to them. */
const lookupsAtOnce = { max: 24, maxEach: 4 };
/** Names of one org or domain that may wait. */
const waitingMax = 256;

/** A lookup that asks once for a name, however many callers want it, and for few names of an org at the same moment. */
export function createFairLookup(lookup: Lookup): Lookup {
  const turns = createTurns(lookupsAtOnce);
  /** Lookups that have begun, by host. */
  const inProgress = new Map<string, Promise<readonly string[]>>();
  /** Those of an org or domain that have not ended. */
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
    // One that waits is shared within its org only: it may wait behind silent names of that.
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

/** Names of countries' second level, below which domains are registered. */
const secondLevels = new Set(['ac', 'co', 'com', 'edu', 'go', 'gob', 'gov', 'ne', 'net', 'nom', 'or', 'org']);

/** The domain that somebody has registered, as far as its form tells. */
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

/**
 * Lookups of names take a thread each until the system's resolver gives up, which can be long after the caller did. A domain
 * whose name server is silent may hold a few of the threads, whoever asks for its names and however often.
 */
import { createTurns } from '../work/turns.ts';

/** Resolves a host name to its addresses, in the resolver's order. Throws with `code` `ENOTFOUND` when there are none. */
export type Lookup = (host: string) => Promise<readonly string[]>;

/** Lookups at the same moment, and those below one domain. libuv gives half of its threads (UV_THREADPOOL_SIZE) to them. */
const lookupsAtOnce = { max: 24, maxEach: 4 };
/** Names of one domain that may wait. */
const waitingMax = 256;

/** A lookup that asks once for a name, however many callers want it, and for few names of one domain at the same moment. */
export function createFairLookup(lookup: Lookup): Lookup {
  const turns = createTurns(lookupsAtOnce);
  const inProgress = new Map<string, Promise<readonly string[]>>();
  const namesOf = new Map<string, number>();

  const inTurn = async (host: string, domain: string): Promise<readonly string[]> => {
    const giveBack = await turns.take(domain);
    try {
      return await lookup(host);
    } finally {
      giveBack();
      inProgress.delete(host);
      const left = (namesOf.get(domain) ?? 1) - 1;
      if (left > 0) namesOf.set(domain, left);
      else namesOf.delete(domain);
    }
  };

  return (host) => {
    const earlier = inProgress.get(host);
    if (earlier) return earlier;
    const domain = domainOf(host);
    const names = namesOf.get(domain) ?? 0;
    if (names >= waitingMax) return Promise.reject(busy(domain));
    namesOf.set(domain, names + 1);
    const found = inTurn(host, domain);
    inProgress.set(host, found);
    return found;
  };
}

/** Names of countries' second level, below which domains are registered. */
const secondLevels = new Set(['ac', 'co', 'com', 'edu', 'go', 'gob', 'gov', 'ne', 'net', 'nom', 'or', 'org']);

/** The domain that somebody has registered, as far as its form tells. */
function domainOf(host: string): string {
  const labels = host.toLowerCase().split('.').filter(Boolean);
  const isOfCountry = labels.at(-1)?.length === 2 && secondLevels.has(labels.at(-2) ?? '');
  return labels.slice(isOfCountry ? -3 : -2).join('.');
}

const busy = (domain: string): Error =>
  Object.assign(new Error(`Too many names below ${domain} are looked up`), {
    syscall: 'getaddrinfo',
    code: 'EAI_AGAIN',
  });

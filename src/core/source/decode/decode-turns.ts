/**
 * Limits the thread time and memory that decoding takes from a process that serves many orgs. A large body blocks the
 * thread for up to a second and becomes values of many times its size, and an API can send many.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { anyMemory, type HeldMemory, type ResponseMemory } from '../../model/response-memory.ts';
import { ThrottledError } from '../../model/throttled.ts';
import { nextSlice } from '../../work/slices.ts';

/** Disposing releases the memory. */
export interface DecodeTurns extends ResponseMemory {
  /** Takes memory in addition to the response's; throws `ThrottledError` when other chunks have taken it. */
  takeMemory(bytes: number, response: HeldMemory | undefined): Promise<void>;
}

export interface DecodeQueue {
  open(orgId: string): DecodeTurns & Disposable;
}

/** Decodes at once, for a process with a single org. */
export const decodeAtOnce: DecodeTurns = { ...anyMemory, takeMemory: async () => undefined };

/** An org rests this many ms for each ms of thread time, so it takes a quarter of the time. */
const restShare = 3;
/** Thread time that costs a rest even without runs of other orgs, as heartbeats, for example, need the thread too. */
const longMs = 50;
/** The share of the memory that one org may take. */
const orgShare = 0.5;
/** A chunk with a body waits this long for memory, then ends and requests the body again. */
const patienceMs = 2000;
/** Chunks end after 60 s at most, so memory is often free after this delay. */
const retryMs = 15_000;

/** The memory of one response, or of a chunk's values: those of its largest body. */
interface Account {
  bytes: number;
}

interface Org {
  readonly held: Set<Account>;
  chunks: number;
  lastTurn: Promise<unknown>;
  turns: number;
  restsUntil: number;
}

interface Clock {
  readonly now: () => number;
  readonly wait: (ms: number) => Promise<unknown>;
}

/** `memoryMax` limits the memory of all chunks together, in bytes. */
export function createDecodeQueue(
  memoryMax: number,
  now: Clock['now'] = () => performance.now(),
  wait: Clock['wait'] = sleep,
): DecodeQueue {
  const orgs = new Map<string, Org>();
  const memory = createSharedMemory(memoryMax, orgs, { now, wait });

  const orgOf = (orgId: string): Org => {
    for (const [id, { chunks, turns, restsUntil }] of orgs)
      if (chunks === 0 && turns === 0 && restsUntil <= now()) orgs.delete(id);
    const org = orgs.get(orgId) ?? { held: new Set(), chunks: 0, lastTurn: Promise.resolve(), turns: 0, restsUntil: 0 };
    orgs.set(orgId, org);
    return org;
  };
  const isShared = (org: Org): boolean => [...orgs.values()].some((other) => other !== org && other.chunks > 0);

  return {
    open(orgId) {
      const org = orgOf(orgId);
      org.chunks += 1;
      const { dispose, ...ofChunk } = memoryOfChunk(org, memory);
      return {
        ...ofChunk,
        inTurn: (work) => takeTurn(org, work, { now, wait, isShared: () => isShared(org) }),
        [Symbol.dispose]() {
          org.chunks -= 1;
          dispose();
        },
      };
    },
  };
}

function takeTurn<Result>(
  org: Org,
  work: () => Result | Promise<Result>,
  { now, wait, isShared }: Clock & { readonly isShared: () => boolean },
): Promise<Result> {
  org.turns += 1;
  const turn = org.lastTurn.then(async () => {
    const ms = org.restsUntil - now();
    if (ms > 0) await wait(ms);
    await nextSlice();
    const begunAt = now();
    try {
      // Work in a thread of its own ends the turn with its promise.
      return work();
    } finally {
      const tookMs = now() - begunAt;
      org.restsUntil = now() + (isShared() || tookMs > longMs ? restShare * tookMs : 0);
    }
  });
  org.lastTurn = turn.catch(() => undefined).then(() => void (org.turns -= 1));
  return turn;
}

interface SharedMemory {
  /** One response alone is never refused, however large: it is decoded when nothing else is in memory. */
  isFree(org: Org, own: readonly Account[], bytes: number): boolean;
  /** Throws `ThrottledError` when it takes too long. */
  waitFor(isFree: () => boolean): Promise<void>;
  lookAgain(): void;
}

function createSharedMemory(memoryMax: number, orgs: ReadonlyMap<string, Org>, { now, wait }: Clock): SharedMemory {
  const waiting = new Set<() => void>();
  return {
    isFree(org, own, bytes) {
      const ofOrg = sumOf(org.held, own);
      const all = [...orgs.values()].reduce((sum, { held }) => sum + sumOf(held, own), 0);
      return (ofOrg === 0 || ofOrg + bytes <= memoryMax * orgShare) && (all === 0 || all + bytes <= memoryMax);
    },
    async waitFor(isFree) {
      for (const end = now() + patienceMs; !isFree(); ) {
        const ms = end - now();
        if (ms <= 0) throw throttled();
        const { promise, resolve } = Promise.withResolvers<void>();
        waiting.add(resolve);
        await Promise.race([promise, wait(ms)]);
        waiting.delete(resolve);
      }
    },
    lookAgain() {
      for (const look of waiting) look();
    },
  };
}

function memoryOfChunk(
  org: Org,
  memory: SharedMemory,
): Pick<DecodeTurns, 'open' | 'takeMemory'> & { readonly dispose: () => void } {
  const own = new Set<Account>();
  const responses = new WeakMap<HeldMemory, Account>();
  const values: Account = { bytes: 0 };
  let ended = false;
  const add = (account: Account): void => {
    if (ended) return;
    own.add(account);
    org.held.add(account);
  };
  const drop = (account: Account): void => {
    own.delete(account);
    if (org.held.delete(account)) memory.lookAgain();
  };
  return {
    open() {
      const account: Account = { bytes: 0 };
      const held: HeldMemory = {
        hold(bytes) {
          if (!memory.isFree(org, [account], bytes)) throw throttled();
          account.bytes = bytes;
          add(account);
        },
        release: () => drop(account),
      };
      responses.set(held, account);
      return held;
    },
    async takeMemory(bytes, response) {
      if (bytes <= values.bytes) return;
      const body = (response && responses.get(response)) ?? { bytes: 0 };
      await memory.waitFor(() => memory.isFree(org, [body, values], body.bytes + bytes));
      values.bytes = bytes;
      add(values);
    },
    dispose() {
      ended = true;
      for (const account of own) drop(account);
    },
  };
}

const throttled = (): ThrottledError => new ThrottledError(retryMs, { reason: 'memory' });

const sumOf = (accounts: ReadonlySet<Account>, except: readonly Account[]): number =>
  [...accounts].reduce((sum, account) => (except.includes(account) ? sum : sum + account.bytes), 0);

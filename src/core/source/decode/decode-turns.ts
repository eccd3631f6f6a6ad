/**
 * What decoding takes of a process that serves many orgs: its thread, and its memory. A large body blocks the thread for up
 * to a second and becomes values of many times its size, and an API can send one after the other to each run of an org.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { anyMemory, type HeldMemory, type ResponseMemory } from '../../model/response-memory.ts';
import { ThrottledError } from '../../model/throttled.ts';
import { nextSlice } from '../../work/slices.ts';

/**
 * What one chunk of a run receives and decodes: the memory of its responses, and the turns of its org. Disposing gives back
 * the memory.
 */
export interface DecodeTurns extends ResponseMemory {
  /**
   * Takes memory for a body that becomes values of so many bytes, beside what its response holds. Throws `ThrottledError`
   * when others have taken what there is.
   */
  takeMemory(bytes: number, response: HeldMemory | undefined): Promise<void>;
}

/** The turns of all orgs in one process. */
export interface DecodeQueue {
  open(orgId: string): DecodeTurns & Disposable;
}

/** Decodes at once: where one org has the process for itself. */
export const decodeAtOnce: DecodeTurns = { ...anyMemory, takeMemory: async () => undefined };

/** An org rests for so many ms for each ms that it took the thread, so it takes a quarter of the time. */
const restShare = 3;
/** The ms of thread that cost a rest although no other org has a run here: what is not a run, a heartbeat say, needs it too. */
const longMs = 50;
/** The share of the memory that one org may take. */
const orgShare = 0.5;
/** How long a chunk waits for memory with a body in its hands, ms; then it ends and asks for the body again. */
const patienceMs = 2000;
/** The wait before it does, ms: a chunk has ended by then or is about to, as it takes 60 s. */
const retryMs = 15_000;

/** The memory of one response, or of the values of a chunk: those of its largest body. */
interface Account {
  bytes: number;
}

interface Org {
  /** What its chunks hold. */
  readonly held: Set<Account>;
  /** Its chunks in progress. */
  chunks: number;
  /** The end of its last turn. */
  lastTurn: Promise<unknown>;
  /** Turns that have not ended. */
  turns: number;
  restsUntil: number;
}

/** A clock of ms, and how to wait. */
interface Clock {
  readonly now: () => number;
  readonly wait: (ms: number) => Promise<unknown>;
}

/** A queue whose chunks may take so much memory together, bytes. */
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

/** Does work when the turns of the org before it have ended and it has rested. */
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
      // Work that is done elsewhere, in a thread of its own, ends the turn with its promise.
      return work();
    } finally {
      const tookMs = now() - begunAt;
      org.restsUntil = now() + (isShared() || tookMs > longMs ? restShare * tookMs : 0);
    }
  });
  org.lastTurn = turn.catch(() => undefined).then(() => void (org.turns -= 1));
  return turn;
}

/** The memory that all orgs share. */
interface SharedMemory {
  /**
   * Whether a response may hold so many bytes, in its accounts. One alone is not refused, however large: it is decoded when
   * nothing else is in memory.
   */
  isFree(org: Org, own: readonly Account[], bytes: number): boolean;
  /** Waits until that is so. Throws `ThrottledError` when it takes too long. */
  waitFor(isFree: () => boolean): Promise<void>;
  /** Called when memory was given back. */
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

/** The accounts of one chunk; `dispose` gives all of them back. */
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

/** What some accounts hold, but for those of one response. */
const sumOf = (accounts: ReadonlySet<Account>, except: readonly Account[]): number =>
  [...accounts].reduce((sum, account) => (except.includes(account) ? sum : sum + account.bytes), 0);

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

/** The memory of one response, or of the values of a chunk: those of its largest body. */
interface Account {
  bytes: number;
}

/** A queue whose chunks may take so much memory together, bytes. */
export function createDecodeQueue(
  memoryMax: number,
  now: () => number = () => performance.now(),
  wait: (ms: number) => Promise<unknown> = sleep,
): DecodeQueue {
  const orgs = new Map<string, Org>();
  const waiting = new Set<() => void>();

  /**
   * Whether a response may hold so many bytes, in its accounts. One alone is not refused, however large: it is decoded when
   * nothing else is in memory.
   */
  const isFree = (org: Org, own: readonly Account[], bytes: number): boolean => {
    const ofOrg = sumOf(org.held, own);
    const all = [...orgs.values()].reduce((sum, { held }) => sum + sumOf(held, own), 0);
    return (ofOrg === 0 || ofOrg + bytes <= memoryMax * orgShare) && (all === 0 || all + bytes <= memoryMax);
  };

  const lookAgain = (): void => {
    for (const look of waiting) look();
  };

  const orgOf = (orgId: string): Org => {
    for (const [id, { chunks, turns, restsUntil }] of orgs)
      if (chunks === 0 && turns === 0 && restsUntil <= now()) orgs.delete(id);
    const org = orgs.get(orgId) ?? { held: new Set(), chunks: 0, lastTurn: Promise.resolve(), turns: 0, restsUntil: 0 };
    orgs.set(orgId, org);
    return org;
  };

  const rest = async (org: Org): Promise<void> => {
    const ms = org.restsUntil - now();
    if (ms > 0) await wait(ms);
    await nextSlice();
  };

  const isShared = (org: Org): boolean => [...orgs.values()].some((other) => other !== org && other.chunks > 0);

  return {
    open(orgId) {
      const org = orgOf(orgId);
      org.chunks += 1;
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
        if (org.held.delete(account)) lookAgain();
      };
      return {
        open(): HeldMemory {
          const account: Account = { bytes: 0 };
          const held: HeldMemory = {
            hold(bytes) {
              if (!isFree(org, [account], bytes)) throw throttled();
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
          for (const end = now() + patienceMs; !isFree(org, [body, values], body.bytes + bytes); ) {
            const ms = end - now();
            if (ms <= 0) throw throttled();
            const { promise, resolve } = Promise.withResolvers<void>();
            waiting.add(resolve);
            await Promise.race([promise, wait(ms)]);
            waiting.delete(resolve);
          }
          values.bytes = bytes;
          add(values);
        },
        inTurn(work) {
          org.turns += 1;
          const turn = org.lastTurn.then(async () => {
            await rest(org);
            const begunAt = now();
            try {
              // Work that is done elsewhere, in a thread of its own, ends the turn with its promise.
              return work();
            } finally {
              const ms = now() - begunAt;
              org.restsUntil = now() + (isShared(org) || ms > longMs ? restShare * ms : 0);
            }
          });
          org.lastTurn = turn.catch(() => undefined).then(() => void (org.turns -= 1));
          return turn;
        },
        [Symbol.dispose]() {
          ended = true;
          org.chunks -= 1;
          for (const account of own) drop(account);
        },
      };
    },
  };
}

const throttled = (): ThrottledError => new ThrottledError(retryMs, { reason: 'memory' });

/** What some accounts hold, but for those of one response. */
const sumOf = (accounts: ReadonlySet<Account>, except: readonly Account[]): number =>
  [...accounts].reduce((sum, account) => (except.includes(account) ? sum : sum + account.bytes), 0);

/**
 * What decoding takes of a process that serves many orgs: its thread, and its memory. A large body blocks the thread for up
 * to a second and becomes values of many times its size, and an API can send one after the other to each run of an org.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { anyMemory, type ResponseMemory } from '../../model/response-memory.ts';
import { ThrottledError } from '../../model/throttled.ts';
import { nextSlice } from '../../work/slices.ts';

/**
 * What one chunk of a run receives and decodes: the memory of its responses, and the turns of its org. Disposing gives back
 * the memory.
 */
export interface DecodeTurns extends ResponseMemory {
  /**
   * Takes memory for a body that becomes values of so many bytes, as long as the chunk goes on. Throws `ThrottledError` when
   * other chunks have taken what there is.
   */
  takeMemory(bytes: number): Promise<void>;
  /** Runs `decode` when it is the turn of its org: one at a time, and after a rest if the last one took the thread. */
  run<Result>(decode: () => Result | Promise<Result>): Promise<Result>;
}

/** The turns of all orgs in one process. */
export interface DecodeQueue {
  open(orgId: string): DecodeTurns & Disposable;
}

/** Decodes at once: where one org has the process for itself. */
export const decodeAtOnce: DecodeTurns = {
  ...anyMemory,
  takeMemory: async () => undefined,
  run: async (decode) => decode(),
};

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

/** The memory of one chunk, bytes. */
interface Taken {
  /** The bodies of responses that are not decoded yet. */
  bodies: number;
  /** The values of the largest body so far. */
  values: number;
}

interface Org {
  readonly chunks: Map<DecodeTurns, Taken>;
  /** The end of its last turn. */
  lastTurn: Promise<unknown>;
  restsUntil: number;
}

/** A queue whose chunks may take so much memory together, bytes. */
export function createDecodeQueue(
  memoryMax: number,
  now: () => number = () => performance.now(),
  wait: (ms: number) => Promise<unknown> = sleep,
): DecodeQueue {
  const orgs = new Map<string, Org>();
  const waiting = new Set<() => void>();

  const isFree = (org: Org, chunk: DecodeTurns, bytes: number): boolean => {
    const others = [...orgs.values()].map((other) => takenBy(other, chunk));
    const ofOrg = takenBy(org, chunk);
    const all = others.reduce((sum, taken) => sum + taken, 0);
    // A body above the limits is not refused: it is decoded when nothing else is in memory.
    return (ofOrg === 0 || ofOrg + bytes <= memoryMax * orgShare) && (all === 0 || all + bytes <= memoryMax);
  };

  const rest = async (org: Org): Promise<void> => {
    const ms = org.restsUntil - now();
    if (ms > 0) await wait(ms);
    await nextSlice();
  };

  const throttled = () => new ThrottledError(retryMs, { reason: 'memory' });
  const lookAgain = (): void => {
    for (const look of waiting) look();
  };

  return {
    open(orgId) {
      const org = orgs.get(orgId) ?? { chunks: new Map(), lastTurn: Promise.resolve(), restsUntil: 0 };
      orgs.set(orgId, org);
      const taken: Taken = { bodies: 0, values: 0 };
      const chunk: DecodeTurns & Disposable = {
        hold(bytes) {
          if (bytes > 0 && !isFree(org, chunk, taken.bodies + taken.values + bytes)) throw throttled();
          taken.bodies += bytes;
        },
        release(bytes) {
          taken.bodies -= bytes;
          if (bytes > 0) lookAgain();
        },
        async takeMemory(bytes) {
          if (bytes <= taken.values) return;
          for (const end = now() + patienceMs; !isFree(org, chunk, taken.bodies + bytes); ) {
            const ms = end - now();
            if (ms <= 0) throw throttled();
            const { promise, resolve } = Promise.withResolvers<void>();
            waiting.add(resolve);
            await Promise.race([promise, wait(ms)]);
            waiting.delete(resolve);
          }
          taken.values = bytes;
        },
        run(decode) {
          const turn = org.lastTurn.then(async () => {
            await rest(org);
            const begunAt = now();
            try {
              // One that works elsewhere, in a thread of its own, ends the turn with its promise.
              return decode();
            } finally {
              const ms = now() - begunAt;
              org.restsUntil = now() + (orgs.size > 1 || ms > longMs ? restShare * ms : 0);
            }
          });
          org.lastTurn = turn.catch(() => undefined);
          return turn;
        },
        [Symbol.dispose]() {
          org.chunks.delete(chunk);
          if (org.chunks.size === 0) orgs.delete(orgId);
          lookAgain();
        },
      };
      org.chunks.set(chunk, taken);
      return chunk;
    },
  };
}

/** The memory that the chunks of an org have taken, but for one of them. */
const takenBy = ({ chunks }: Org, except: DecodeTurns): number =>
  [...chunks].reduce((sum, [chunk, { bodies, values }]) => (chunk === except ? sum : sum + bodies + values), 0);

/** The state of a receiver that fails or asks for a pause, shared by all requests of a batch. */
import { AppError } from '../../errors.ts';
import { durableWaitMs, ThrottledError } from '../../model/throttled.ts';
import { observations } from '../../observations.ts';
import type { WebhookClient } from './client.ts';
import type { Failing, Outbox, OutboxPart } from './outbox.ts';
import type { WebhookVerdict } from './response.ts';

export interface Clock {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  /** A random number from 0 up to but not including 1. */
  readonly random: () => number;
}

type FinalVerdict = Exclude<WebhookVerdict, { readonly kind: 'ended' | 'later' | 'failing' }>;

type RetriedVerdict = Extract<WebhookVerdict, { readonly kind: 'later' | 'failing' }>;

export interface PatientPost {
  /**
   * Posts until there is a final response; `isDoubted`: see {@link OutboxPart.isDoubted}. Throws {@link ThrottledError} for a
   * wait that the run must do, errors that end the run, and the reason given to {@link PatientPost.end}.
   */
  readonly post: (part: OutboxPart) => Promise<{ readonly verdict: FinalVerdict; readonly isDoubted: boolean }>;
  readonly end: (reason: unknown) => void;
}

/** Milliseconds for which a receiver may fail without a break within one run. */
const failingMsMax = 6 * 3_600_000;
/** Milliseconds. */
const backoffMsMax = 300_000;

/** Serves one batch, and stops at its first error. */
export function createPatientPost(client: WebhookClient, outbox: Outbox, clock: Clock): PatientPost {
  let pause: Pause = { over: Promise.resolve() };
  const extend = (next: Promise<void>) => {
    const over = Promise.all([pause.over, next]);
    // The next caller that sends gets the failure; until then it must not count as unhandled.
    over.catch(() => undefined);
    pause = { over };
  };
  /** Resolves with the pause that is over, unless another one has begun meanwhile. */
  const turn = async () => {
    for (;;) {
      const current = pause;
      await current.over;
      if (current === pause) return current;
    }
  };
  const wait = async (verdict: RetriedVerdict, startedAt: number) => {
    const { waitMs, otherwise } = await waitAfter(verdict, { outbox, clock });
    observations.waitBegun.publish({ reason: 'destination', waitMs });
    if (clock.now() - startedAt + waitMs > durableWaitMs) throw new ThrottledError(waitMs, { otherwise });
    await clock.sleep(waitMs);
  };
  return {
    async post(part) {
      const startedAt = clock.now();
      let { isDoubted } = part;
      for (;;) {
        const before = await turn();
        const verdict = await client.post(part);
        if ('isUnreadable' in verdict && !isDoubted) {
          await outbox.doubt(part);
          isDoubted = true;
        }
        if (verdict.kind === 'ended') throw verdict.error;
        if (verdict.kind !== 'later' && verdict.kind !== 'failing') return { verdict, isDoubted };
        // Requests that fail together are one failure of the receiver.
        if (verdict.kind === 'later' || pause === before) extend(wait(verdict, startedAt));
      }
    },
    end: (reason) => extend(Promise.reject(reason)),
  };
}

interface Pause {
  /** Rejects when nothing more may be sent. */
  readonly over: Promise<unknown>;
}

interface Wait {
  readonly waitMs: number;
  readonly otherwise: AppError;
}

async function waitAfter(
  verdict: RetriedVerdict,
  { outbox, clock }: { readonly outbox: Outbox; readonly clock: Clock },
): Promise<Wait> {
  if (verdict.kind === 'later') {
    return { waitMs: verdict.waitMs, otherwise: away('asks for more time than limits.maxDurationSeconds leaves') };
  }
  const failing = await outbox.failed();
  const times = `${verdict.what} ${failing.failures} times in a row`;
  const otherwise = verdict.isUnreadable ? illegible(times) : away(times);
  if (failing.sinceMs > failingMsMax) throw otherwise;
  return { waitMs: backoffMs(failing, clock.random), otherwise };
}

/** 1 s, 2 s, 4 s … up to 5 min, each a fifth more or less. */
const backoffMs = ({ failures }: Failing, random: () => number): number =>
  Math.min(1000 * 2 ** (failures - 1), backoffMsMax) * (0.8 + 0.4 * random());

const illegible = (what: string): AppError =>
  new AppError(
    'destination_rejected',
    `The receiver ${what}. Let it respond as docs/connectors/receiver.md says and start the sync again: it continues with this batch.`,
    { isFinal: true },
  );

const away = (what: string): AppError =>
  new AppError(
    'destination_unavailable',
    `The receiver ${what}. Fix it and start the sync again: it continues with the batch that got no response.`,
    { isFinal: true },
  );

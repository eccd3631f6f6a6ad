/**
 * Derives the health of an endpoint from its attempts. After five failures in a row it counts as down and is probed:
 * only its oldest event is tried, after 5 s, 30 s and then each minute. So the receiver gets no burst after an outage,
 * and waiting events keep their attempts. The first success makes all waiting events due, in order, with one concurrent
 * request and one more per success.
 *
 * Only automatic attempts count, not those that a user requested. `classify-attempt.ts` handles 410 and
 * `webhook-delivery: disable`.
 */

export interface EndpointHealth {
  /** Failures in a row; during probing, only probes count. */
  readonly consecutiveFailures: number;
  readonly probing: boolean;
  /** Concurrent requests during recovery; `null` for as many as the endpoint allows. */
  readonly sendWindow: number | null;
  /**
   * Milliseconds since the first of the current failures; 0 if that is the last attempt, `null` if the last one
   * succeeded.
   */
  readonly failingMs: number | null;
}

export interface CountedOutcome {
  readonly delivered: boolean;
  /** Made while the endpoint was probed. */
  readonly probe: boolean;
}

export interface HealthChange extends EndpointHealth {
  readonly succeeded: boolean;
  /** Probing ended with a success: all waiting events become due. */
  readonly recovered: boolean;
  /** Milliseconds to the next probe; `null` if it is not probed. */
  readonly probeInMs: number | null;
  /** It has failed for as long as an event is retried, and is disabled. */
  readonly exhausted: boolean;
}

export interface HealthLimits {
  readonly maxInFlight: number;
  /** Milliseconds for which an event is tried: the sum of the retry schedule. */
  readonly retryWindowMs: number;
}

/** Failures in a row that start probing. */
export const failuresMax = 5;
/** Milliseconds before the first, second and every later probe. */
const probeGapsMs = [5_000, 30_000, 60_000] as const;

/** `outcomes` are automatic attempts in the order in which they ended. */
export function healthAfter(
  before: EndpointHealth,
  outcomes: readonly CountedOutcome[],
  { maxInFlight, retryWindowMs }: HealthLimits,
): HealthChange {
  const { consecutiveFailures, probing, sendWindow, failingMs } = before;
  const state = { consecutiveFailures, probing, sendWindow, failingMs, recovered: false };
  for (const { delivered, probe } of outcomes) {
    if (delivered) {
      state.recovered ||= state.probing;
      state.sendWindow = widened(state.probing ? 0 : state.sendWindow, maxInFlight);
      Object.assign(state, { consecutiveFailures: 0, probing: false, failingMs: null });
    } else if (probe || !state.probing) {
      state.consecutiveFailures += 1;
      state.failingMs ??= 0;
      state.sendWindow = state.sendWindow === null ? null : 1;
      state.probing ||= state.consecutiveFailures >= failuresMax;
    }
  }
  return {
    ...state,
    succeeded: outcomes.some(({ delivered }) => delivered),
    recovered: state.recovered && !state.probing,
    sendWindow: state.probing ? null : state.sendWindow,
    probeInMs: state.probing ? probeGapMs(state.consecutiveFailures) : null,
    exhausted: state.probing && (state.failingMs ?? 0) >= retryWindowMs,
  };
}

/** Next window size: one more per success, which doubles it with each round. */
function widened(window: number | null, max: number): number | null {
  return window === null || window + 1 >= max ? null : window + 1;
}

const probeGapMs = (failures: number): number =>
  probeGapsMs[Math.min(failures - failuresMax, probeGapsMs.length - 1)] ?? 0;

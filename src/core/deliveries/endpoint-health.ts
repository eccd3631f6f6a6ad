/**
 * Derives the health of an endpoint from its attempts. After five failures in a row it counts as down and is probed:
 * only its oldest event is tried, after 5 s, 30 s and then each minute. So the receiver gets no burst after an outage,
 * and waiting events keep their attempts. The first success makes all waiting events due at once, in order, with one
 * concurrent request at first and one more for each success.
 *
 * Only automatic attempts count; attempts that a user requested do not. 410 and `webhook-delivery: disable` are
 * classify-attempt.ts.
 */

/** The state of an endpoint as attempts change it. */
export interface EndpointHealth {
  /** Failures in a row; once it is probed, only probes count. */
  readonly consecutiveFailures: number;
  readonly probing: boolean;
  /** Requests at once while it comes back; null: as many as it takes. */
  readonly sendWindow: number | null;
  /** The milliseconds since the first of the failures in a row; 0: the last attempt is that one; null: it succeeded. */
  readonly failingMs: number | null;
}

/** How an automatic attempt ended. */
export interface CountedOutcome {
  readonly delivered: boolean;
  /** The attempt was made while the endpoint was probed. */
  readonly probe: boolean;
}

/** The change of the health. */
export interface HealthChange extends EndpointHealth {
  /** An attempt succeeded. */
  readonly succeeded: boolean;
  /** Whether it was probed and responds again: all waiting events are then due. */
  readonly recovered: boolean;
  /** Milliseconds to the next probe; null: it is not probed. */
  readonly probeInMs: number | null;
  /** Whether it has failed for as long as an event is retried, and is disabled. */
  readonly exhausted: boolean;
}

/** The limits of the endpoint. */
export interface HealthLimits {
  /** Requests at once. */
  readonly maxInFlight: number;
  /** The milliseconds for which an event is tried: the sum of the retry schedule. */
  readonly retryWindowMs: number;
}

/** Failures in a row after which an endpoint is probed. */
export const failuresMax = 5;
/** The milliseconds before the first, the second and every later probe. */
const probeGapsMs = [5_000, 30_000, 60_000] as const;

/** The health after automatic attempts that ended in this order. */
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

/** The next size of the window: one more for each success, so twice as many at once with each round of them. */
function widened(window: number | null, max: number): number | null {
  return window === null || window + 1 >= max ? null : window + 1;
}

const probeGapMs = (failures: number): number =>
  probeGapsMs[Math.min(failures - failuresMax, probeGapsMs.length - 1)] ?? 0;

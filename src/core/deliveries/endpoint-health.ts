/**
 * What the attempts at an endpoint say about the endpoint. After five failures in a row it is taken to be down, and is
 * probed: only its oldest event is tried, after 5 s, 30 s and then each minute, so that an outage costs neither the
 * receiver a storm nor the waiting events their attempts. The first success makes everything that waits due at once, in
 * the order of events, with one request under way at first and one more for each that succeeds.
 *
 * Only automatic attempts count. What somebody asked for by hand is their own probe.
 */

/** The state of an endpoint as attempts change it. */
export interface EndpointHealth {
  /** Failures in a row; of those after it came to be probed, the probes alone. */
  readonly consecutiveFailures: number;
  readonly probing: boolean;
  /** Requests at once while it comes back; null: as many as it takes. */
  readonly sendWindow: number | null;
  /** Since the first of the failures in a row, ms, 0: it is that one; null: the last attempt succeeded. */
  readonly failingMs: number | null;
}

/** How an automatic attempt ended. */
export interface CountedOutcome {
  readonly delivered: boolean;
  /** It was made while the endpoint was probed. */
  readonly probe: boolean;
}

/** What changed in it. */
export interface HealthChange extends EndpointHealth {
  /** An attempt succeeded. */
  readonly succeeded: boolean;
  /** It was probed and is back: everything that waits is due. */
  readonly recovered: boolean;
  /** Milliseconds to the next probe; null: it is not probed. */
  readonly probeInMs: number | null;
  /** It has failed for as long as an event is tried, and is given up. */
  readonly exhausted: boolean;
}

/** What the endpoint allows. */
export interface HealthLimits {
  /** Requests at once. */
  readonly maxInFlight: number;
  /** For how long an event is tried, ms: the sum of the retry schedule. */
  readonly retryWindowMs: number;
}

/** Failures in a row after which an endpoint is probed. */
export const failuresMax = 5;
/** Before the first, the second and every later probe, ms. */
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

/** One more for each success: twice as many at once with each round of them. */
function widened(window: number | null, max: number): number | null {
  return window === null || window + 1 >= max ? null : window + 1;
}

const probeGapMs = (failures: number): number =>
  probeGapsMs[Math.min(failures - failuresMax, probeGapsMs.length - 1)] ?? 0;

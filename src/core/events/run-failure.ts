import * as v from 'valibot';
import type { RunErrorCode } from '../errors.ts';

export const RunStage = v.picklist(['auth', 'fetch', 'enrich', 'transform', 'validate', 'deliver']);
export type RunStage = v.InferOutput<typeof RunStage>;

interface FailureFacts {
  /** The stage that failed; `null` if the code does not tell. */
  readonly stage: RunStage | null;
  /** Whether a later run may succeed without any correction. */
  readonly retryable: boolean;
}

/** Retries within a run are decided in `activities/failures.ts`. */
const facts = {
  auth_failed: { stage: 'auth', retryable: false },
  egress_blocked: { stage: 'fetch', retryable: false },
  page_loop: { stage: 'fetch', retryable: false },
  page_limit: { stage: 'fetch', retryable: false },
  source_rejected: { stage: 'fetch', retryable: false },
  source_unavailable: { stage: 'fetch', retryable: true },
  record_invalid: { stage: 'validate', retryable: false },
  destination_rejected: { stage: 'deliver', retryable: false },
  destination_login: { stage: 'deliver', retryable: false },
  destination_behind: { stage: 'deliver', retryable: false },
  destination_gone: { stage: 'deliver', retryable: false },
  destination_unavailable: { stage: 'deliver', retryable: true },
  spec_invalid: { stage: null, retryable: false },
  no_progress: { stage: null, retryable: true },
  fenced: { stage: null, retryable: true },
  internal: { stage: null, retryable: true },
  orchestration_lost: { stage: null, retryable: true },
  terminated: { stage: null, retryable: true },
} as const satisfies Record<RunErrorCode | 'internal' | 'orchestration_lost' | 'terminated', FailureFacts>;

export const runFailureCodes: readonly string[] = Object.keys(facts);

/** Facts for the code of a failed run; those of `internal` for an unknown code. */
export const failureFacts = (code: string): FailureFacts =>
  Object.hasOwn(facts, code) ? facts[code as keyof typeof facts] : facts.internal;

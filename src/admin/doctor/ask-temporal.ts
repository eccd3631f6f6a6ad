import { isGrpcServiceError } from '@temporalio/client';
import type { Deps } from '../../deps.ts';

export const deadlineMs = 5000;

type CallResult<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly code: number | null };

export const asking =
  (temporal: Deps['temporal']) =>
  async <Value>(call: () => Promise<Value>): Promise<CallResult<Value>> => {
    try {
      return { ok: true, value: await temporal.connection.withDeadline(Date.now() + deadlineMs, call) };
    } catch (error) {
      return { ok: false, code: codeOf(error) };
    }
  };

/** The gRPC code; `null` if it is not a gRPC error. */
export function codeOf(error: unknown): number | null {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return isGrpcServiceError(cause) ? cause.code : null;
}

import { isGrpcServiceError } from '@temporalio/client';
import type { Deps } from '../../deps.ts';

/** The deadline of one call in milliseconds. */
export const deadlineMs = 5000;

/** What a call returned, or the gRPC code of its error; null: it is no error of gRPC. */
type CallResult<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly code: number | null };

/** Makes one call; what it throws is a result, too. */
export const asking =
  (temporal: Deps['temporal']) =>
  async <Value>(call: () => Promise<Value>): Promise<CallResult<Value>> => {
    try {
      return { ok: true, value: await temporal.connection.withDeadline(Date.now() + deadlineMs, call) };
    } catch (error) {
      return { ok: false, code: codeOf(error) };
    }
  };

/** The gRPC code; null: it is no error of gRPC. */
export function codeOf(error: unknown): number | null {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return isGrpcServiceError(cause) ? cause.code : null;
}

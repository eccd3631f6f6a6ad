import { type Connection, isGrpcServiceError } from '@temporalio/client';
import type { NativeConnection } from '@temporalio/worker';
import { searchAttributes } from '../../workflows/contract.ts';
import type { Log } from '../log.ts';

/** `INDEXED_VALUE_TYPE_KEYWORD` of Temporal's API. */
const keyword = 2;

/** Usable at once; safe to repeat. If it is not allowed (Temporal Cloud), logs that once: runs then start without them. */
export async function registerSearchAttributes(
  connection: Connection | NativeConnection,
  { namespace, log }: { readonly namespace: string; readonly log: Log },
): Promise<void> {
  try {
    await connection.operatorService.addSearchAttributes({
      namespace,
      searchAttributes: Object.fromEntries(Object.values(searchAttributes).map((name) => [name, keyword])),
    });
  } catch (error) {
    if (isGrpcServiceError(error) && error.code === 6) return; // ALREADY_EXISTS
    log.warn('search attributes not registered; register them by hand to filter runs in the Temporal UI', {
      names: Object.values(searchAttributes),
      error,
    });
  }
}

/** Ids of the work in progress, carried by the log lines and spans that it causes. */
import { AsyncLocalStorage } from 'node:async_hooks';

/** The org, run, request or trace of the work; absent if it has none or it is not known yet. */
export interface WorkIds {
  readonly orgId?: string | undefined;
  readonly connectionId?: string | undefined;
  readonly resourceKey?: string | undefined;
  readonly runId?: string | undefined;
  readonly scheduleId?: string | undefined;
  readonly endpointId?: string | undefined;
  readonly requestId?: string | undefined;
  readonly traceId?: string | undefined;
}

const current = new AsyncLocalStorage<WorkIds>();
const none: WorkIds = {};

/** Runs work under these ids, in addition to those of the enclosing work. */
export const workOf = <Result>(ids: WorkIds, work: () => Result): Result =>
  current.run({ ...current.getStore(), ...ids }, work);

/** Runs code that belongs to no work although work caused it, such as a later message of a pooled connection. */
export const apartFromWork = <Result>(work: () => Result): Result => current.run(none, work);

export const idsOfWork = (): WorkIds => current.getStore() ?? none;

/** The org of the current work; empty if unknown. */
export const orgOfWork = (): string => current.getStore()?.orgId ?? '';

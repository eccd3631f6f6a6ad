/** The ids of the work in progress: the lines of the log and the spans that it causes carry them. */
import { AsyncLocalStorage } from 'node:async_hooks';

/** Whose work it is, and of which run, request or trace; absent: of none, or it is not known yet. */
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

/** Does work that these ids belong to, beside those of the work that it is part of. */
export const workOf = <Result>(ids: WorkIds, work: () => Result): Result =>
  current.run({ ...current.getStore(), ...ids }, work);

/** Does what belongs to no work, although work caused it: what a pooled connection says later, for example. */
export const apartFromWork = <Result>(work: () => Result): Result => current.run(none, work);

/** The ids of the work in progress. */
export const idsOfWork = (): WorkIds => current.getStore() ?? none;

/** The org whose work this is; empty: it was not said. */
export const orgOfWork = (): string => current.getStore()?.orgId ?? '';

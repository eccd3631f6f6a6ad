import type { Db } from '../db/client.ts';
import { insertCalls, lastCallSequence, type NewCall } from '../db/queries/runs/calls.ts';
import type { OrgScope } from '../db/scope.ts';
import type { LoggedCall } from '../src/core/http/logged-call.ts';

/** Writes the calls of a run as they happen, and several per statement when they outpace the database. */
export interface CallLog {
  write(call: LoggedCall): void;
  /** Resolves when every call so far is stored; throws if one cannot be. Nothing is delivered before that. */
  stored(): Promise<void>;
}

/** Milliseconds for which calls are gathered: a watched run shows them soon, and a fast one needs few statements. */
const batchDelayMs = 100;

/** Continues the sequence of earlier attempts; `isFirst` means that there are none. */
export async function openCallLog(
  db: Db,
  scope: OrgScope,
  { runId, isFirst }: { readonly runId: string; readonly isFirst: boolean },
): Promise<CallLog> {
  let sequence = isFirst ? 0 : await lastCallSequence(db, scope, runId);
  let storedTo = sequence;
  let waiting: NewCall[] = [];
  let storing: Promise<void> | null = null;
  let timer: NodeJS.Timeout | null = null;
  const store = async () => {
    const calls = waiting;
    waiting = [];
    try {
      await insertCalls(db, scope, calls);
    } catch (error) {
      waiting = [...calls, ...waiting];
      throw error;
    }
    storedTo = calls.at(-1)?.sequence ?? storedTo;
    if (waiting.length > 0) flushLater();
  };
  const flush = (): Promise<void> => {
    if (timer) clearTimeout(timer);
    timer = null;
    storing ??= store().finally(() => {
      storing = null;
    });
    return storing;
  };
  const flushLater = (): void => {
    // A failure leaves the calls waiting, so that stored() tries and fails again.
    timer ??= setTimeout(() => void flush().catch(() => undefined), batchDelayMs);
  };
  return {
    write(call) {
      sequence += 1;
      waiting.push({ ...call, runId, sequence });
      flushLater();
    },
    async stored() {
      const last = sequence;
      // Later calls are not awaited: they may never end.
      while (storedTo < last) await flush();
    },
  };
}

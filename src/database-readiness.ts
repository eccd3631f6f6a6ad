import type { Db } from '../db/client.ts';
import { appliedMigrations, pendingMigrations } from '../db/migrate.ts';
import { hasCode } from './core/error-code.ts';
import { inTime } from './core/work/in-time.ts';

/** The name a probe reads to know whom it reached. */
export const serviceName = 'connector-sync';

/** Whether a process can work; `detail` says what is missing. */
export type Readiness = { readonly status: 'ready' } | { readonly status: 'not_ready'; readonly detail: string };

/** The time for a probe in milliseconds: it must not wait as long as a stuck database would let it. */
const probeTimeoutMs = 2000;

/** Whether the database responds and has every migration; otherwise what is missing. */
export async function probe(db: Db): Promise<Readiness> {
  try {
    const limit = { ms: probeTimeoutMs, late: new Error('timed out') };
    const pending = await inTime(appliedMigrations(db).then(pendingMigrations), limit);
    if (pending.length === 0) return { status: 'ready' };
    return notReady(`migrations are missing (${pending.join(', ')}): run "npm run migrate"`);
  } catch (error) {
    // 42P01: no migration has ever run. Anything else is the database itself; its text may name hosts and users.
    if (hasCode(error, '42P01')) {
      return notReady('the database is empty: run "npm run migrate"');
    }
    return notReady('the database does not respond');
  }
}

const notReady = (detail: string): Readiness => ({ status: 'not_ready', detail });

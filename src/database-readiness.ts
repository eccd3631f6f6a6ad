import type { Db } from '../db/client.ts';
import { appliedMigrations, pendingMigrations } from '../db/migrate.ts';
import { hasCode } from './core/error-code.ts';
import { inTime } from './core/work/in-time.ts';

/** Tells a probe which service it reached. */
export const serviceName = 'connector-sync';

export type Readiness = { readonly status: 'ready' } | { readonly status: 'not_ready'; readonly detail: string };

/** Milliseconds for a probe: a stuck database must not hold it up longer. */
const probeTimeoutMs = 2000;

export async function probe(db: Db): Promise<Readiness> {
  try {
    const limit = { ms: probeTimeoutMs, late: new Error('timed out') };
    const pending = await inTime(appliedMigrations(db).then(pendingMigrations), limit);
    if (pending.length === 0) return { status: 'ready' };
    return notReady(`migrations are missing (${pending.join(', ')}): run "npm run migrate"`);
  } catch (error) {
    // 42P01: no migration has ever run. Any other error is of the database itself; its text may name hosts and users.
    if (hasCode(error, '42P01')) {
      return notReady('the database is empty: run "npm run migrate"');
    }
    return notReady('the database does not respond');
  }
}

const notReady = (detail: string): Readiness => ({ status: 'not_ready', detail });

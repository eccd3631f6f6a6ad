import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { migrateToLatest } from '../../db/migrate.ts';
import { startPostgres } from '../../src/dev/embedded/postgres.ts';
import { startGuardian } from '../../src/dev/embedded/start-guardian.ts';
import { createLog } from '../../src/log.ts';
import { memoryFolder } from '../support/service/memory-folder.ts';

/** A PostgreSQL server for the control database alone, migrated; destinations stay up while it is stopped. */
export interface ControlDatabase extends AsyncDisposable {
  readonly url: string;
  /** Immediately, as by a crash: connections are cut, and the next start recovers. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

/** Starts it in a folder of its own. */
export async function startControlDatabase(): Promise<ControlDatabase> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(memoryFolder(), 'connector-sync-control-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const log = createLog({ level: 'error', name: 'control-database' });
  const guardian = stack.adopt(startGuardian(log), (started) => started.close());
  const { databaseUrl, process: server } = await startPostgres(folder, { guardian, log });
  stack.defer(() => server.stop());
  await migrateToLatest(databaseUrl);
  const opened = stack.move();
  return {
    url: databaseUrl,
    async stop() {
      server.kill('SIGQUIT');
      await server.stop();
    },
    start: () => server.restart(),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

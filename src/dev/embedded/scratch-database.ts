import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../config/config.ts';
import { createLog } from '../../log.ts';
import { startEmbedded } from './services.ts';

/** Stopped and deleted when disposed; for tests and generated files. */
export interface ScratchDatabase extends AsyncDisposable {
  /** For the superuser. */
  readonly url: string;
}

/** Ignores database variables of the environment. */
export async function startScratchDatabase(parent = tmpdir()): Promise<ScratchDatabase> {
  const stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(parent, 'connector-sync-scratch-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  // The address of a Temporal server that is never called keeps the embedded one from being started.
  const config = loadConfig({ ...process.env, DATABASE_URL: '', TEMPORAL_ADDRESS: 'unused:1', DATA_DIR: folder });
  const services = await startEmbedded(config, createLog({ level: 'warn', name: 'scratch' }));
  stack.defer(() => services.stop());
  return { url: services.databaseUrl, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

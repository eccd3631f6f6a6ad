import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { openDatabase } from '../../db/client.ts';
import { migrateToLatest } from '../../db/migrate.ts';
import { loadConfig } from '../../src/config.ts';
import { startEmbedded } from '../../src/embedded/services.ts';
import { findTemporalCli } from '../../src/embedded/temporal-cli.ts';
import { createLog } from '../../src/log.ts';
import { templateDatabase } from './database.ts';

/**
 * Once per test run: a PostgreSQL server with a migrated template database, and the Temporal CLI. Tests find them in
 * TEST_DATABASE_URL and TEMPORAL_CLI; both may be set from outside to use others.
 */
export default async function setup(): Promise<() => Promise<void>> {
  const stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'connector-sync-test-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const log = createLog({ level: 'warn', name: 'test' });
  // A Temporal address keeps the embedded one from being started: each test that needs one starts its own.
  const config = loadConfig({ ...process.env, DATABASE_URL: '', DATA_DIR: folder, TEMPORAL_ADDRESS: 'unused:1' });
  process.env['TEMPORAL_CLI'] = await findTemporalCli({ ...config, cacheDirs: [config.cacheDir], log });
  if (process.env['TEST_DATABASE_URL'] === undefined) {
    const services = await startEmbedded(config, log);
    stack.defer(() => services.stop());
    process.env['TEST_DATABASE_URL'] = services.databaseUrl;
  }
  await makeTemplate(process.env['TEST_DATABASE_URL']);
  return () => stack.disposeAsync();
}

async function makeTemplate(serverUrl: string): Promise<void> {
  const server = openDatabase(serverUrl, { poolSize: 1, applicationName: 'test', onIdleError() {} });
  await sql`drop database if exists ${sql.id(templateDatabase)} with (force)`.execute(server);
  await sql`create database ${sql.id(templateDatabase)}`.execute(server);
  const url = new URL(serverUrl);
  url.pathname = `/${templateDatabase}`;
  await migrateToLatest(url.href);
  await server.destroy();
}

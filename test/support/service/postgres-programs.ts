import { execFile } from 'node:child_process';
import { chown, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { postgresOwner } from '../../../src/dev/embedded/postgres-owner.ts';
import { createLog } from '../../../src/log.ts';
import { eventually } from './eventually.ts';
import { startServiceProcess } from './service-process.ts';
import { unusedPort } from './temporal-dev-server.ts';

const run = promisify(execFile);

/** A PostgreSQL server with the programs of its version; disposing ends it and removes its data. */
export interface PostgresWithPrograms extends AsyncDisposable {
  /** Makes an empty database; its URL. */
  createDatabase(name: string): Promise<string>;
  /** `pg_dump`, as an operator runs it. */
  dump(databaseUrl: string, file: string): Promise<void>;
  /** `pg_restore` into an empty database. */
  restore(file: string, databaseUrl: string): Promise<void>;
}

/**
 * The folder of an installed PostgreSQL with server and client programs; null: there is none. The one from npm has no
 * `pg_dump`, and `pg_dump` refuses a server that is newer than itself.
 */
export async function findPostgresPrograms(): Promise<string | null> {
  const root = '/usr/lib/postgresql';
  const versions = await readdir(root).catch(() => []);
  for (const version of versions.toSorted((a, b) => Number(b) - Number(a))) {
    const found = new Set(await readdir(join(root, version, 'bin')).catch(() => []));
    if (['initdb', 'postgres', 'pg_dump', 'pg_restore'].every((name) => found.has(name)))
      return join(root, version, 'bin');
  }
  return null;
}

/** Starts an empty server in a folder of its own. */
export async function startPostgresWithPrograms(bin: string): Promise<PostgresWithPrograms> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'connector-sync-postgres-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const owner = postgresOwner(createLog({ level: 'silent', name: 'test' }));
  if (owner) await chown(folder, owner.uid, owner.gid);
  const data = join(folder, 'data');
  await run(join(bin, 'initdb'), ['-D', data, '-U', 'operator', '-A', 'trust', '-E', 'UTF8', '--locale', 'C'], {
    cwd: folder,
    ...owner,
  });
  const port = await unusedPort();
  const server = ['-D', data, '-p', String(port), '-k', '', '-c', 'listen_addresses=127.0.0.1', '-c', 'fsync=off'];
  const program = [join(bin, 'postgres'), ...server];
  const asOwner = owner
    ? ['setpriv', '--reuid', String(owner.uid), '--regid', String(owner.gid), '--clear-groups', ...program]
    : program;
  const [command = '', ...args] = asOwner;
  const started = startServiceProcess({ name: 'postgres', command, args, env: process.env, watchesParent: false });
  stack.defer(() => started.destroy());
  const urlOf = (name: string) => `postgres://operator@127.0.0.1:${port}/${name}`;
  await eventually('PostgreSQL responds', () => query(urlOf('postgres'), 'select 1').then(() => true));
  const opened = stack.move();
  return {
    async createDatabase(name) {
      await query(urlOf('postgres'), `create database ${name}`);
      return urlOf(name);
    },
    async dump(databaseUrl, file) {
      await run(join(bin, 'pg_dump'), ['--format=custom', `--file=${file}`, databaseUrl]);
    },
    async restore(file, databaseUrl) {
      await run(join(bin, 'pg_restore'), ['--exit-on-error', '--no-owner', `--dbname=${databaseUrl}`, file]);
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

async function query(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

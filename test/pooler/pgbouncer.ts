import { execFile } from 'node:child_process';
import { access, chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { loadConfig } from '../../src/config/config.ts';
import { testDatabaseUrl } from '../support/service/database-server.ts';
import { startServiceProcess } from '../support/service/service-process.ts';
import { unusedPort } from '../support/service/temporal-dev-server.ts';

const run = promisify(execFile);

/** A PgBouncer in transaction mode before the server of the tests. */
export interface PgBouncer extends AsyncDisposable {
  /** The address of a database of the server, through the pooler. */
  through(databaseUrl: string): string;
}

/** Starts it with the settings of docs/operating.md, and with so few connections that transactions have to share them. */
export async function startPgBouncer(poolSize: number): Promise<PgBouncer> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'connector-sync-pgbouncer-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  // It gives up the rights of root, and reads its settings afterwards.
  await chmod(folder, 0o755);
  const server = testDatabaseUrl();
  const port = await unusedPort();
  const target = `host=${server.hostname} port=${server.port} user=${server.username} password=${server.password}`;
  const settings = [
    '[databases]',
    `* = ${target} connect_query='set statement_timeout = 60000; set idle_in_transaction_session_timeout = 10000'`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    'pool_mode = transaction',
    `default_pool_size = ${poolSize}`,
    'ignore_startup_parameters = statement_timeout, idle_in_transaction_session_timeout',
  ];
  const file = join(folder, 'pgbouncer.ini');
  await writeFile(file, settings.join('\n'));
  const { command, libraries } = await findPgBouncer();
  const asNobody = process.getuid?.() === 0 ? ['-u', 'nobody'] : [];
  const env = { ...process.env, ...(libraries === null ? {} : { LD_LIBRARY_PATH: libraries }) };
  const pooler = startServiceProcess({
    name: 'pgbouncer',
    command,
    args: [...asNobody, file],
    env,
    watchesParent: false,
  });
  stack.defer(() => pooler.destroy());
  await pooler.logged('process up');
  const started = stack.move();
  return {
    through(databaseUrl) {
      const url = new URL(databaseUrl);
      url.port = String(port);
      return url.href;
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

interface Program {
  readonly command: string;
  /** Where its libraries are; null: where the system has them. */
  readonly libraries: string | null;
}

/** The installed one, or that of the packages of Debian or Ubuntu, unpacked in the cache. Throws where there is neither. */
async function findPgBouncer(): Promise<Program> {
  const named = process.env['PGBOUNCER'] ?? '/usr/sbin/pgbouncer';
  if (await exists(named)) return { command: named, libraries: null };
  const folder = join(loadConfig(process.env).cacheDir, 'pgbouncer');
  const command = join(folder, 'usr/sbin/pgbouncer');
  if (!(await exists(command))) await unpack(folder);
  const libraries = join(folder, 'usr/lib', (await readdir(join(folder, 'usr/lib')))[0] ?? '');
  return { command, libraries };
}

async function unpack(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await run('apt-get', ['download', 'pgbouncer', 'libevent-2.1-7', 'libc-ares2'], { cwd: folder });
  const packages = (await readdir(folder)).filter((name) => name.endsWith('.deb'));
  for (const name of packages) await run('dpkg', ['-x', name, folder], { cwd: folder });
}

const exists = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  );

import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { unusedPort } from '../../support/service/temporal-dev-server.ts';
import { ask, basic, listening, times } from './ask.ts';
import { run, serve } from './processes.ts';
import { downloads, type RealServer } from './real-server.ts';

const version = '26.5.0';
const headers = basic('sync', 'password');

/** Kinto of PyPI in a virtual environment, with its storage in memory: two collections, 1,500 records, five groups. */
export async function startKinto(): Promise<RealServer> {
  const folder = await downloads('kinto');
  const program = join(folder, 'bin', 'kinto');
  if (!existsSync(program)) {
    await run('python3', ['-m', 'venv', folder]);
    await run(join(folder, 'bin', 'pip'), ['install', '--quiet', `kinto==${version}`]);
  }
  const port = await unusedPort();
  const settings = join(folder, 'verify.ini');
  await writeFile(settings, ini(port));
  const server = serve('kinto', program, ['start', '--ini', settings, '--port', String(port)]);
  const url = `http://127.0.0.1:${port}/v1`;
  await listening(`${url}/`);
  const put = (path: string, data: object) => ask('PUT', `${url}/buckets/blog${path}`, { headers, body: { data } });
  await put('', {});
  await times(2, (n) => put(`/collections/${collections[n]}`, {}));
  await times(1500, (n) => put(recordPath(n), { title: `Record ${n}`, no: n }));
  await times(5, (n) => put(`/groups/group-${n}`, { members: [] }));
  return {
    name: `Kinto ${version} (PyPI)`,
    hostPort: `127.0.0.1:${port}`,
    params: { baseUrl: `http://127.0.0.1:${port}`, buckets: ['blog'], user: 'sync' },
    secrets: { password: 'password' },
    records: { collections: 2, records: 1500, groups: 5 },
    async change() {
      await times(40, (n) => put(recordPath(n), { title: `Changed ${n}`, no: n }));
      await times(25, (n) => ask('DELETE', `${url}/buckets/blog${recordPath(100 + n)}`, { headers }));
      await put('/groups/group-1', { members: ['account:ada'] });
      await ask('DELETE', `${url}/buckets/blog/groups/group-2`, { headers });
      return {
        changed: { collections: 0, records: 40, groups: 1 },
        deleted: { collections: 0, records: 25, groups: 1 },
      };
    },
    [Symbol.asyncDispose]: () => server.destroy(),
  };
}

const collections = ['articles', 'comments'];
const recordPath = (n: number): string => `/collections/${collections[n % 2]}/records/record-${n}`;

const ini = (port: number): string => `[app:main]
use = egg:kinto
kinto.storage_backend = kinto.core.storage.memory
kinto.permission_backend = kinto.core.permission.memory
kinto.cache_backend = kinto.core.cache.memory
kinto.userid_hmac_secret = secret
kinto.paginate_by = 200
multiauth.policies = basicauth
[server:main]
use = egg:waitress#main
host = 127.0.0.1
port = ${port}
[loggers]
keys = root
[handlers]
keys = console
[formatters]
keys = plain
[logger_root]
level = WARN
handlers = console
[handler_console]
class = StreamHandler
args = (sys.stderr,)
level = NOTSET
formatter = plain
[formatter_plain]
format = %(message)s
`;

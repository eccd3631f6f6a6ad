import { existsSync } from 'node:fs';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { unusedPort } from '../../support/service/temporal-dev-server.ts';
import { ask, basic, listening, times } from './ask.ts';
import { run, serve } from './processes.ts';
import { downloads, type RealServer } from './real-server.ts';

const version = '1.26.0';
const repo = 'sync/web';
const password = 'sync-Password-1';
const headers = basic('sync', password);
const unsafeAsRoot = { GITEA_I_AM_BEING_UNSAFE_RUNNING_AS_ROOT: 'true' };

/** Gitea, built from its Go module (a quarter of an hour, once): a repository with issues, comments and more. */
export async function startGitea(): Promise<RealServer> {
  const folder = await downloads('gitea');
  const source = join(folder, 'source');
  const program = join(folder, 'gitea');
  if (!existsSync(program)) await build(source, program);
  const data = await mkdtemp(join(folder, 'data-'));
  const hostPort = `127.0.0.1:${await unusedPort()}`;
  const settings = join(data, 'app.ini');
  await writeFile(settings, ini({ data, source, hostPort }));
  const server = serve('gitea', program, ['web', '--config', settings], unsafeAsRoot);
  await listening(`http://${hostPort}/api/healthz`);
  const user = ['--username', 'sync', '--password', password, '--email', 'sync@example.com'];
  const admin = ['admin', 'user', 'create', '--config', settings, '--admin', '--must-change-password=false', ...user];
  await run(program, admin, { env: unsafeAsRoot });
  const url = `http://${hostPort}/api/v1`;
  const token = await ask('POST', `${url}/users/sync/tokens`, { headers, body: { name: 'sync', scopes: ['all'] } });
  const records = await fill(url);
  return {
    name: `Gitea ${version} (Go module)`,
    hostPort,
    params: { baseUrl: `http://${hostPort}`, repos: [repo] },
    secrets: { token: String(token['sha1']) },
    records,
    change: () => change(url),
    async [Symbol.asyncDispose]() {
      await server.destroy();
      await rm(data, { recursive: true, force: true });
    },
  };
}

async function build(source: string, program: string): Promise<void> {
  const downloaded = await run('go', ['mod', 'download', '-json', `code.gitea.io/gitea@v${version}`]);
  // The module's folder is read-only, and its go.mod has replacements: it is built from a copy of its own.
  await cp(JSON.parse(downloaded).Dir, source, { recursive: true });
  await run('chmod', ['-R', 'u+w', source]);
  await run('go', ['build', '-tags', 'sqlite sqlite_unlock_notify', '-o', program, '.'], { cwd: source });
}

async function fill(url: string) {
  const post = (path: string, body: object) => ask('POST', `${url}/repos/${repo}${path}`, { headers, body });
  await ask('POST', `${url}/user/repos`, { headers, body: { name: 'web', auto_init: true, default_branch: 'main' } });
  await times(120, (n) => post('/issues', { title: `Issue ${n}`, body: 'It does not work' }));
  await times(60, (n) => post(`/issues/${1 + (n % 20)}/comments`, { body: `Comment ${n}` }));
  await times(60, (n) => post('/labels', { name: `label-${n}`, color: '#00aabb' }));
  await times(55, (n) => post('/releases', { tag_name: `v1.${n}.0`, name: `Release ${n}` }));
  await times(6, async (n) => {
    const content = Buffer.from(`change ${n}`).toString('base64');
    await post(`/contents/file-${n}.txt`, { content, message: `File ${n}`, branch: 'main', new_branch: `branch-${n}` });
    await post('/pulls', { title: `Pull request ${n}`, head: `branch-${n}`, base: 'main' });
  });
  return { repositories: 1, issues: 120, 'issue-comments': 60, 'pull-requests': 6, releases: 55, labels: 60 };
}

async function change(url: string) {
  const at = `${url}/repos/${repo}`;
  const idsOf = async (path: string): Promise<readonly string[]> =>
    Object.values(await ask('GET', `${at}${path}`, { headers })).map((item) => String(Object(item).id));
  await times(15, (n) => ask('PATCH', `${at}/issues/${50 + n}`, { headers, body: { title: `Changed ${n}` } }));
  const comments = await idsOf('/issues/comments?limit=50');
  await times(5, (n) => ask('PATCH', `${at}/issues/comments/${comments[n]}`, { headers, body: { body: 'Changed' } }));
  await times(2, (n) => ask('PATCH', `${at}/pulls/${121 + n}`, { headers, body: { title: `Changed ${n}` } }));
  const [labels, releases] = [await idsOf('/labels'), await idsOf('/releases')];
  await times(3, (n) => ask('DELETE', `${at}/labels/${labels[n]}`, { headers }));
  await ask('PATCH', `${at}/labels/${labels[5]}`, { headers, body: { name: 'changed' } });
  await ask('DELETE', `${at}/releases/${releases[0]}`, { headers });
  return {
    // The repository itself has another number of releases.
    changed: { repositories: 1, issues: 15, 'issue-comments': 5, 'pull-requests': 2, releases: 0, labels: 1 },
    deleted: { issues: 0, 'issue-comments': 0, 'pull-requests': 0, releases: 1, labels: 3 },
  };
}

interface Settings {
  readonly data: string;
  readonly source: string;
  readonly hostPort: string;
}

const ini = ({ data, source, hostPort }: Settings): string => `RUN_MODE = prod
WORK_PATH = ${data}
[server]
HTTP_ADDR = 127.0.0.1
HTTP_PORT = ${hostPort.split(':')[1]}
ROOT_URL = http://${hostPort}/
STATIC_ROOT_PATH = ${source}
DISABLE_SSH = true
OFFLINE_MODE = true
[database]
DB_TYPE = sqlite3
PATH = ${data}/gitea.db
[security]
INSTALL_LOCK = true
SECRET_KEY = verify
[log]
MODE = console
LEVEL = Warn
`;

import { type ExecFileOptions, execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AuditedDestination, openAuditedDestination } from '../support/destinations/audit.ts';
import { useSharedService } from '../support/service/use-shared-service.ts';

/** A program that hangs is killed before its test gives up, ms: a test that times out would leave it running. */
const timeout = 50_000;
const run = (program: string, args: readonly string[], options: ExecFileOptions) =>
  promisify(execFile)(program, args, { timeout, killSignal: 'SIGKILL', ...options, encoding: 'utf8' });
const root = join(import.meta.dirname, '../..');
const clientFolder = join(root, 'clients/typescript');
const examples = join(clientFolder, 'examples');

const contacts = [{ id: 'c1', email: 'Ada@Example.com' }, { id: 'c2' }];
const body = JSON.stringify({ data: contacts });
const shared = useSharedService({ reply: () => ({ status: 200, body }) });

const started = new AsyncDisposableStack();
/** A project that has installed the package as npm packs it. */
let project: string;
let packed: readonly string[];
let destination: AuditedDestination;
let connectionId = '';

beforeAll(async () => {
  destination = started.use(await openAuditedDestination());
  project = await mkdtemp(join(tmpdir(), 'connector-sync-client-'));
  started.defer(() => rm(project, { recursive: true, force: true }));
  const shell = process.platform === 'win32';
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', project], { cwd: clientFolder, shell });
  const [{ filename, files }] = JSON.parse(stdout.slice(stdout.indexOf('[')));
  packed = files.map(({ path }: { readonly path: string }) => path);
  const installed = join(project, 'node_modules/@connector-sync/client');
  await mkdir(installed, { recursive: true });
  await run('tar', ['-xzf', join(project, filename), '-C', installed, '--strip-components=1'], {});
  await writeFile(join(project, 'package.json'), '{"type":"module"}');
  await cp(examples, project, { recursive: true, filter: (source) => !source.endsWith('tsconfig.json') });
});
afterAll(() => started.disposeAsync());

/** What the example prints. */
async function example(name: string, ...args: readonly string[]): Promise<string> {
  const { org, apiUrl } = shared().stack;
  const env = { ...process.env, CSS_API_URL: apiUrl, CSS_API_KEY: org.apiKey, NO_COLOR: '1' };
  const { stdout, stderr } = await run(process.execPath, [`${name}.ts`, ...args], { cwd: project, env });
  expect(stderr).toBe('');
  return stdout.trim();
}

describe('the package', () => {
  it('has compiled code with its types, its examples, and nothing else of the repository', async () => {
    expect(packed).toEqual(expect.arrayContaining(['dist/index.js', 'dist/index.d.ts', 'README.md', 'LICENSE']));
    const links = [
      ...(await readFile(join(clientFolder, 'README.md'), 'utf8')).matchAll(/\]\((?!https?:|#)([^)]+)\)/g),
    ];
    expect(links.map(([, path]) => path).filter((path = '') => !packed.includes(path))).toEqual([]);
    expect(
      packed.filter(
        (path) =>
          !/^(dist\/[\w-]+(\.gen)?\.(js|d\.ts)|examples\/[\w-]+\.ts|README\.md|LICENSE|package\.json)$/.test(path),
      ),
    ).toEqual([]);
  });

  it('gives the types of its examples to a project that checks them strictly', async () => {
    const files = (await readdir(project)).filter((name) => name.endsWith('.ts'));
    const typeRoots = join(root, 'node_modules/@types');
    const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2024', '--types', 'node'];
    const compiler = join(root, 'node_modules/typescript/bin/tsc');
    const checked = run(process.execPath, [compiler, ...options, '--typeRoots', typeRoots, ...files], { cwd: project });
    expect(await checked.catch(({ stdout }) => ({ stdout }))).toMatchObject({ stdout: '' });
  });
});

describe('the examples of the client', () => {
  it('are each run by this test', async () => {
    const names = (await readdir(examples)).filter((name) => name.endsWith('.ts'));
    const known = ['specs', 'connections', 'sync', 'quarantine', 'schedules', 'hooks', 'webhooks', 'embed-token'];
    expect(names.toSorted()).toEqual(
      [...known, 'api-keys', 'freshness', 'connect-session'].map((name) => `${name}.ts`).toSorted(),
    );
  });

  it('publish a spec, and show the issues of one with a mistake', async () => {
    const printed = await example('specs', shared().upstream.url);
    expect(printed).toContain("a record becomes { id: 'c1', email: 'ada@example.com' }");
    expect(printed).toMatch(/a mistake: 400 validation \[[^\]]*path: 'resources'/);
    expect(printed).toContain('the spec is published');
  });

  it('connect a customer', async () => {
    const printed = await example('connections', destination.url);
    expect(printed).toContain('Acme of Example Ltd active');
    expect(printed).not.toMatch(/\bfalse\b/);
    connectionId = printed.split('\n').at(-1) ?? '';
    expect(connectionId).toMatch(/^con_/);
  });

  it('connect a customer once, however often they are run', async () => {
    expect((await example('connections', destination.url)).split('\n').at(-1)).toBe(connectionId);
  });

  it('sync, and follow the run to its end', async () => {
    const printed = await example('sync', connectionId);
    expect(printed).toMatch(/^partial \{[^}]*recordsOut: 1[^}]*quarantined: 1/m);
    expect(printed).toContain(`GET ${shared().upstream.url}/contacts 200`);
    expect(await destination.query('select email from contacts')).toEqual([{ email: 'ada@example.com' }]);
  });

  it('read how up to date a connection is', async () => {
    expect(await example('freshness', connectionId)).toContain("health: 'degraded'");
  });

  it('show quarantined records and retry them', async () => {
    const printed = await example('quarantine', connectionId);
    expect(printed).toMatch(/^c2 \[/);
    expect(printed).toContain('retried: 1');
  });

  it('make and delete a schedule', async () => {
    expect(await example('schedules', connectionId)).toBe('0 6 * * 1-5 Europe/Berlin disabled');
  });

  it('make a hook and post to it', async () => {
    expect(await example('hooks', connectionId)).toBe('accepted with 202\na request: accepted');
  });

  it('receive an event and verify it', async () => {
    expect(await example('webhooks', String(shared().sparePort()))).toBe('received webhook.test');
  });

  it('give a browser a token', async () => {
    expect(await example('embed-token', connectionId)).toMatch(/^a token of \d+ characters, valid until 2\d{3}-/);
  });

  it('let a customer connect', async () => {
    const printed = await example('connect-session', shared().stack.org.workspaceId, destination.url);
    expect(printed).toMatch(/^send the customer to \/connect\/cse_\w+\nopen values$/);
  });

  it('make an API key and revoke it', async () => {
    expect(await example('api-keys')).toBe('the new key sees 3 workspaces\nrevoked: 401 unauthorized');
  });
});

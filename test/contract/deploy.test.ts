import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import manifest from '../../package.json' with { type: 'json' };
import { describeVariables } from '../../src/config/config.ts';
import { isMetadataAddress, matches, parseAddress, parseDenyList } from '../../src/core/http/addresses.ts';

const root = join(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');
const readYaml = (file: string) => parse(read(file), { merge: true });
const chart = 'deploy/helm/connector-sync';
const templates = globSync(`${chart}/templates/*`, { cwd: root });

const dockerfile = read('deploy/Dockerfile');
/** What the Dockerfile copies of the project, as paths from its top. */
const copied = [...dockerfile.matchAll(/^COPY (?!--)(?<paths>.+) \S+$/gm)].flatMap(
  ({ groups }) => groups?.['paths']?.split(' ') ?? [],
);
const isIn = (tops: readonly string[], path: string): boolean =>
  tops.some((top) => path === top || path.startsWith(`${top}/`));

/** Read by Temporal's client, or by Node and its libraries, and not by us. */
const readByOthers =
  /^(TEMPORAL_(NAMESPACE|API_KEY|TLS(_\w+)?)|HOME|NODE_COMPILE_CACHE|NODE_EXTRA_CA_CERTS|MALLOC_ARENA_MAX|UV_THREADPOOL_SIZE)$/;
const known = new Set(describeVariables().map(({ name }) => name));
const unknown = (names: Iterable<string>): readonly string[] =>
  [...names].filter((name) => !known.has(name) && !readByOthers.test(name));

/** What we read of a service of the compose file. */
interface Service {
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
}

describe('the image', () => {
  it('has every file that its processes import or read', () => {
    const reached = filesOf(['src/api-server.ts', 'src/worker.ts', 'src/migrate.ts', 'src/admin.ts']);
    expect(reached).toEqual(expect.arrayContaining(['src/core/expressions/evaluator.ts', 'docs/connectors/errors.md']));
    // The launcher is copied for the build only.
    const kept = copied.filter((path) => !path.startsWith('scripts'));
    expect(reached.filter((path) => !isIn([...kept, 'node_modules'], path))).toEqual([]);
  });

  it('gets from the builder what it copies', () => {
    const allowed = read('deploy/Dockerfile.dockerignore')
      .split('\n')
      .filter((line) => line.startsWith('!'))
      .map((line) => line.slice(1));
    expect(copied.filter((path) => !existsSync(join(root, path)) || !isIn(allowed, path))).toEqual([]);
  });

  it('has the Node that the launcher fetches, with the flag that the launcher gives it', () => {
    const launcher = read('scripts/launcher/node.mjs');
    expect(launcher).toContain(`fetchedVersion = '${read('.node-version').trim()}'`);
    const [, flag = 'none'] = /memoryFlags = \['(.+)'\]/.exec(launcher) ?? [];
    expect(read('deploy/image/connector-sync')).toContain(`exec node ${flag} `);
    expect(read('deploy/image/fill-caches.sh')).toContain(`node ${flag} "src/`);
  });

  it('sets variables that its processes read', () => {
    const [, block = ''] = /^ENV (NODE_ENV=production \\[\s\S]+?[^\\])$/m.exec(dockerfile) ?? [];
    const names = [...block.matchAll(/(\w+)=/g)].map(([, name = '']) => name);
    expect(names).toContain('WORKER_HEALTH_PORT');
    expect(unknown(names)).toEqual([]);
  });
});

describe('the compose file', () => {
  const compose = readYaml('deploy/compose.yaml');
  const ours = ['api', 'worker', 'migrate'];

  it('sets variables that our processes read', () => {
    for (const name of ours) expect(unknown(Object.keys(compose.services[name].environment))).toEqual([]);
  });

  it('takes each value without a default from the file that make-env.sh writes', () => {
    const required = [...read('deploy/compose.yaml').matchAll(/\$\{(\w+):\?/g)].map(([, name = '']) => name);
    const made = [...read('deploy/make-env.sh').matchAll(/^(\w+)=\$\(/gm)].map(([, name = '']) => name);
    expect(new Set(made)).toEqual(new Set(required));
  });

  it('has no service that ends unless another one waits for its end, as `up --wait` would fail', () => {
    const services: readonly Service[] = Object.values(compose.services);
    const awaited = services.flatMap(({ depends_on = {} }) =>
      Object.keys(depends_on).filter((name) => depends_on[name]?.condition === 'service_completed_successfully'),
    );
    const ending = Object.keys(compose.services).filter((name) => compose.services[name].restart === 'on-failure');
    expect(ending).toContain('migrate');
    expect(new Set(awaited)).toEqual(new Set(ending));
  });

  it('gives our processes neither root nor a file system to write to', () => {
    for (const name of ours) expect(compose.services[name]).toMatchObject({ read_only: true, cap_drop: ['ALL'] });
  });

  it('has the version of the project, as the image and the chart have', () => {
    const { version } = manifest;
    expect(compose.services.api.image).toBe(`connector-sync:${version}`);
    expect(dockerfile).toContain(`ARG VERSION=${version}\n`);
    expect(readYaml(`${chart}/Chart.yaml`)).toMatchObject({ version, appVersion: version });
  });

  it('gives Temporal the settings by which orgs share workers fairly', () => {
    const { 'dynamic-config': dev } = readYaml('temporal-dev.yaml');
    const settings = readYaml('deploy/temporal/dynamic-config.yaml');
    for (const name of ['matching.enableFairness', 'worker.schedulerNamespaceStartWorkflowRPS'])
      expect(settings[name]).toEqual([{ value: dev.dev[name] }]);
  });
});

describe('the chart', () => {
  const usual = readYaml(`${chart}/values.yaml`);
  const validate = new Ajv({ allErrors: true, allowUnionTypes: true }).compile(
    JSON.parse(read(`${chart}/values.schema.json`)),
  );
  const examples = globSync(`${chart}/ci/*.yaml`, { cwd: root });

  it.each(['', ...examples])('has values that its schema takes: %s', (file) => {
    expect(validate(file === '' ? usual : merged(usual, readYaml(file))) || validate.errors).toBe(true);
  });

  it.each([
    ['a secret among the variables', { env: { SECRETS_KEYS: 'k1:x' } }],
    ['a queue that does not exist', { workers: [{ name: 'a', queues: ['all'], replicas: 1 }] }],
    ['a value that does not exist', { api: { replica: 2 } }],
    ['no Secret', { existingSecret: '' }],
  ])('refuses %s', (_what, values) => {
    expect(validate(merged(usual, values))).toBe(false);
  });

  it('sets variables that our processes read', () => {
    const set = templates.flatMap((file) => [...read(file).matchAll(/- name: ([A-Z][A-Z0-9_]+)$/gm)]);
    const given = examples.flatMap((file) => Object.keys(readYaml(file).env ?? {}));
    const names = [...set.map(([, name = '']) => name), ...given];
    expect(names).toContain('WORKER_QUEUES');
    expect(unknown(names)).toEqual([]);
  });

  it.each([
    ...['169.254.169.254', '169.254.170.2', '168.63.129.16', '100.100.100.200', '192.0.0.192'],
    ...['fd00:ec2::254', 'fd20:ce::254', 'fd00:c1::a9fe:a9fe'],
  ])('denies an address that hands out credentials, as the egress guard does: %s', (text) => {
    const address = parseAddress(text);
    if (!address) throw new Error(`${text} is no address`);
    const denied = parseDenyList(usual.networkPolicy.deniedCidrs.join(','));
    expect(isMetadataAddress(address)).toBe(true);
    expect(denied.some((range) => matches(address, range))).toBe(true);
  });
});

/** Values over the usual ones, as helm merges them: lists as a whole. */
function merged(below: unknown, above: unknown): unknown {
  if (!isMap(below) || !isMap(above)) return above;
  return {
    ...below,
    ...Object.fromEntries(Object.entries(above).map(([key, value]) => [key, merged(below[key], value)])),
  };
}

const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What a file names of the project: imports of every form, and files and folders beside it that it reads or starts. */
const references = [
  /\bfrom '(?<path>\.[^']+)'/g,
  /\bimport\(?\s?'(?<path>\.[^']+)'/g,
  /\bnew URL\('(?<path>[^':]+)', import\.meta\.url\)/g,
  /\bimport\.meta\.dirname, '(?<path>[^']+)'/g,
];

/** The files and what they reach. Folders are named, and not looked into. */
function filesOf(entries: readonly string[]): readonly string[] {
  const found = new Set<string>();
  const visit = (path: string): void => {
    if (found.has(path)) return;
    found.add(path);
    if (!/\.(ts|mjs)$/.test(path)) return;
    const text = read(path);
    for (const { groups } of references.flatMap((pattern) => [...text.matchAll(pattern)]))
      visit(join(dirname(path), groups?.['path'] ?? ''));
  };
  for (const entry of entries) visit(entry);
  // The top itself is named only to shorten paths in logs.
  return [...found].filter((path) => path !== '.');
}

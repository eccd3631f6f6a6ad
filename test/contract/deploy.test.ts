import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import manifest from '../../package.json' with { type: 'json' };
import { describeVariables, loadConfig } from '../../src/config/config.ts';
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
  readonly networks: readonly string[];
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
    // A file of before has no token: then there is no codec.
    expect(new Set(made)).toEqual(new Set([...required, 'TEMPORAL_CODEC_TOKEN']));
  });

  it('gives the token of the codec to the API, and its address to the pages of Temporal, if there is one', () => {
    const { api, worker, 'temporal-ui': ui } = compose.services;
    expect(api.environment).toMatchObject(worker.environment);
    expect(api.environment.TEMPORAL_CODEC_TOKEN).toBe('${TEMPORAL_CODEC_TOKEN:-}');
    expect(loadConfig({ TEMPORAL_CODEC_TOKEN: '' }).temporalCodecToken).toBeNull();
    const address = `${worker.environment.PUBLIC_URL}/api/codec/\${TEMPORAL_CODEC_TOKEN}`;
    expect(ui.environment.TEMPORAL_CODEC_ENDPOINT).toBe(`\${TEMPORAL_CODEC_TOKEN:+${address}}`);
  });

  it('bounds what each container takes: its memory as the chart does, and its logs', () => {
    for (const [name, service] of Object.entries<Record<string, unknown>>(compose.services)) {
      expect(service, name).toMatchObject({
        logging: { driver: 'json-file', options: { 'max-size': '10m', 'max-file': '5' } },
        mem_limit: expect.stringMatching(/^\d+[gm]$/),
      });
    }
    const { api, workers, migration } = readYaml(`${chart}/values.yaml`);
    const limits = [api, workers[0], migration].map(({ resources }) => resources.limits.memory.replace('i', ''));
    expect(ours.map((name) => compose.services[name].mem_limit.toUpperCase())).toEqual(
      limits.map((limit) => limit.toUpperCase()),
    );
  });

  it('gives processes as long to end as the runbook says, as do the chart and the unit of systemd', () => {
    const [, seconds] = /Give a process (\d+) s before it is killed/.exec(read('docs/operations/upgrade.md')) ?? [];
    for (const name of ['api', 'worker']) expect(compose.services[name].stop_grace_period).toBe(`${seconds}s`);
    for (const name of ['api', 'workers'])
      expect(read(`${chart}/templates/${name}.yaml`)).toContain(`terminationGracePeriodSeconds: ${seconds}\n`);
    expect(read('docs/operations/deploy.md')).toContain(`TimeoutStopSec=${seconds}\n`);
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

  it('lets nobody reach Temporal who does not need it, since it has no login there', () => {
    const services: Readonly<Record<string, Service>> = compose.services;
    const inNetwork = (network: string) =>
      Object.keys(services).filter((name) => services[name]?.networks.includes(network));
    expect(inNetwork('temporal')).toEqual(['temporal', 'temporal-namespace', 'temporal-ui', 'api', 'worker']);
    expect(inNetwork('temporal-database')).toEqual(['temporal-postgres', 'temporal-schema', 'temporal']);
    for (const network of ['temporal', 'temporal-database', 'control'])
      expect(compose.networks[network]).toEqual({ internal: true });
    // The pages have no login either: they are started only when somebody asks for them, for this machine.
    expect(compose.services['temporal-ui']).toMatchObject({ profiles: ['ui'], ports: ['127.0.0.1:8080:8080'] });
    expect(compose.services['temporal']).not.toHaveProperty('ports');
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

  describe('with mutual TLS to Temporal', () => {
    const helpers = read(`${chart}/templates/_helpers.tpl`);
    /** The text of a named template. */
    const template = (name: string): string => {
      const [, body = ''] = helpers.split(`{{- define "css.${name}" -}}`);
      return body.split('{{- define ')[0] ?? '';
    };
    const env = template('env');
    const variables = Object.fromEntries(
      [...env.matchAll(/- name: (TEMPORAL_TLS\w*)\n {2}value: (.+)$/gm)].map(([, name = '', value = '']) => [
        name,
        value,
      ]),
    );
    const [, folder = ''] =
      /name: temporal-tls, mountPath: (\S+), readOnly: true/.exec(template('containerBasics')) ?? [];

    it('names the files of the Secret where it mounts them', () => {
      expect(folder).not.toBe('');
      expect(template('podBasics')).toMatch(
        /- name: temporal-tls\n {4}secret: \{ secretName: \{\{ \.Values\.temporal\.tls\.secret \}\}, defaultMode: 0444 \}/,
      );
      for (const name of ['podBasics', 'containerBasics'])
        expect(template(name)).toMatch(/\{\{- if include "css\.temporalCertificate" \. \}\}\n {2}- .*temporal-tls/);
      expect(variables).toEqual({
        TEMPORAL_TLS: '"true"',
        TEMPORAL_TLS_CLIENT_CERT_PATH: `${folder}/tls.crt`,
        TEMPORAL_TLS_CLIENT_KEY_PATH: `${folder}/tls.key`,
        TEMPORAL_TLS_SERVER_CA_CERT_PATH: `${folder}/ca.crt`,
        TEMPORAL_TLS_SERVER_NAME: '{{ . | quote }}',
      });
    });

    it('sets what the client of Temporal reads', () => {
      const tls = join(root, 'test/fixtures/tls');
      const files = { 'tls.crt': 'localhost.crt', 'tls.key': 'localhost.key', 'ca.crt': 'db.test.crt' };
      const set = Object.entries(variables).map(([name, value]) => {
        const file = Object.entries(files).find(([mounted]) => value === `${folder}/${mounted}`)?.[1];
        return [name, file === undefined ? value.replace('{{ . | quote }}', 'temporal.internal') : join(tls, file)];
      });
      const given = { ...Object.fromEntries(set), TEMPORAL_TLS: 'true', TEMPORAL_ADDRESS: 'temporal:7233' };
      const { connectionOptions } = loadClientConnectConfig({ disableFile: true, overrideEnvVars: given });
      const bytesOf = (file: string) => new Uint8Array(readFileSync(join(tls, file)));
      expect(connectionOptions.tls).toEqual({
        serverNameOverride: 'temporal.internal',
        serverRootCACertificate: bytesOf('db.test.crt'),
        clientCertPair: { crt: bytesOf('localhost.crt'), key: bytesOf('localhost.key') },
      });
    });

    it.each(['api', 'workers', 'migration'])('gives it to the processes of %s.yaml', (name) => {
      const text = read(`${chart}/templates/${name}.yaml`);
      for (const part of ['podBasics', 'containerBasics', 'env']) expect(text).toContain(`include "css.${part}"`);
    });
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

/**
 * Reads streams of manifests by Airbyte's engine and by the specs imported from them, from the same mock API, and compares
 * requests and records. `npm run differential -- <folder of manifests> [name]`; needs Python 3.10 or later. Not part of
 * `npm test`: it installs the package `airbyte-cdk`.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { createEvaluatorPool } from '../../src/core/expressions/evaluator-pool.ts';
import { importAirbyte } from '../../src/core/import/airbyte/airbyte.ts';
import { createOrigins } from '../../src/core/import/airbyte/manifest/origins.ts';
import { propagateParameters } from '../../src/core/import/airbyte/manifest/propagate-parameters.ts';
import { createResolver } from '../../src/core/import/airbyte/manifest/resolve-references.ts';
import { checkSpec } from '../../src/core/spec/check/check.ts';
import { compareReads } from './compare.ts';
import { connectionFor, moments } from './config.ts';
import { fields, isRecord, type JsonRecord } from './json.ts';
import { type AskedRequest, createMockApi } from './mock-api.ts';
import { type Read, readBySpec } from './read-by-spec.ts';

/** With a fraction of a second, as nearly every time has one. */
const now = new Date('2024-07-01T00:00:00.123Z');
const here = dirname(fileURLToPath(import.meta.url));
const version = '7.39.1';

/** The outcome of one stream. */
type Outcome =
  | { readonly kind: 'same'; readonly requests: number; readonly records: number }
  | { readonly kind: 'same records' | 'different' | 'not compared'; readonly why: string };

function python(): string {
  const given = process.env['AIRBYTE_PYTHON'];
  if (given !== undefined) return given;
  const folder = join(process.env['DATA_DIR'] ?? tmpdir(), 'connector-sync-airbyte-cdk');
  const program = join(folder, 'bin', 'python');
  if (!existsSync(program)) {
    mkdirSync(folder, { recursive: true });
    run('python3', ['-m', 'venv', folder]);
    run(program, ['-m', 'pip', 'install', '--quiet', `airbyte-cdk==${version}`, 'freezegun']);
  }
  return program;
}

function run(command: string, args: readonly string[]): void {
  const { status } = spawnSync(command, args, { stdio: 'inherit' });
  if (status !== 0) throw new Error(`${command} ${args[0] ?? ''} failed`);
}

/** The streams of a manifest by name, references resolved. */
function streamsOf(manifest: JsonRecord): ReadonlyMap<string, JsonRecord> {
  const origins = createOrigins();
  const resolver = createResolver(manifest, origins);
  const parameters = fields(manifest, '$parameters');
  const list = Array.isArray(manifest['streams']) ? manifest['streams'] : [];
  return new Map(
    list.flatMap((item, index): [string, JsonRecord][] => {
      const value = resolver.resolveSchema(item, `streams.${index}`);
      if (!isRecord(value)) return [];
      const stream = propagateParameters('DeclarativeSource.streams', { ...value }, { parameters, origins });
      return [[String(stream['name']), { ...stream, schema_loader: value['schema_loader'] }]];
    }),
  );
}

async function compareManifest(
  file: string,
  program: string,
  only: string | undefined,
): Promise<ReadonlyMap<string, Outcome>> {
  const manifest: unknown = parse(readFileSync(file, 'utf8'), {
    maxAliasCount: -1,
    uniqueKeys: false,
    logLevel: 'silent',
  });
  if (!isRecord(manifest)) throw new Error(`${file} is no manifest`);
  const { spec: document, report } = importAirbyte(manifest);
  const checked = checkSpec(document);
  const outcomes = new Map<string, Outcome>();
  if (!checked.valid) return outcomes;
  const { spec } = checked;
  const streams = streamsOf(manifest);
  const names = report
    .filter(({ status, name }) => status === 'converted' && (only === undefined || name === only))
    .map(({ name }) => name);
  const keys = new Map(spec.resources.map((resource) => [resource.name ?? resource.key, resource.key]));
  const indexes = new Map(report.map(({ name }, index) => [name, index]));
  const { config, values } = connectionFor(resolvedSpec(manifest), chosen(spec, streams));
  const mocks = new Map(names.map((name) => [name, createMockApi({ name, component: streams.get(name) ?? {} })]));
  const respond = (name: string, request: AskedRequest) =>
    mocks.get(name)?.(request) ?? { status: 404, headers: {}, body: '{}' };
  const listed = names.map((name) => ({ name, index: indexes.get(name) ?? 0 }));
  const theirs = await readByCdk({ manifest, config, streams: listed, program, respond });
  const pool = createEvaluatorPool({ size: 1 });
  for (const name of names) {
    const cdk = theirs[name];
    const key = keys.get(name);
    if (cdk === undefined || key === undefined) {
      outcomes.set(name, { kind: 'not compared', why: 'the CDK gave no result' });
      continue;
    }
    const ours = await readBySpec(spec, key, {
      values: withMoment(values, cdk.moment),
      now,
      evaluator: pool.forOrg('org_differential'),
      respond: (request) => respond(name, request),
    });
    outcomes.set(name, outcomeOf(cdk, ours, hiddenParameters(spec, key)));
  }
  await pool[Symbol.asyncDispose]();
  return outcomes;
}

/** The form of start times that the CDK can read. */
const withMoment = (values: ReadonlyMap<string, unknown>, moment: string | null): ReadonlyMap<string, unknown> =>
  moment === null
    ? values
    : new Map([...values].map(([key, value]) => [key, moments.includes(String(value)) ? moment : value]));

function outcomeOf(cdk: Read, ours: Read, hidden: ReadonlySet<string>): Outcome {
  if (cdk.error !== null) return { kind: 'not compared', why: `the CDK fails: ${cdk.error.slice(0, 300)}` };
  if (ours.error !== null) return { kind: 'different', why: `the spec fails: ${ours.error.slice(0, 300)}` };
  const { requests, records } = compareReads(cdk, ours, hidden);
  if (records !== null)
    return { kind: 'different', why: `${requests === null ? 'records' : 'also records'}: ${records}` };
  if (requests !== null) return { kind: 'same records', why: `requests: ${requests}` };
  return { kind: 'same', requests: ours.requests.length, records: ours.records.length };
}

/** The runner in memory signs nothing: keys in the query are not compared. */
function hiddenParameters(
  spec: { readonly auth: object; readonly resources: readonly { readonly key: string; readonly auth?: object }[] },
  key: string,
): ReadonlySet<string> {
  const auth = spec.resources.find((resource) => resource.key === key)?.auth ?? spec.auth;
  return 'in' in auth && auth.in === 'query' && 'name' in auth ? new Set([String(auth.name)]) : new Set();
}

function resolvedSpec(manifest: JsonRecord): JsonRecord {
  const resolver = createResolver(manifest, createOrigins());
  return { ...manifest, spec: resolver.resolveSchema(manifest['spec'] ?? {}, 'spec') };
}

/** The authenticator that the import has chosen, by the value that selects it. */
function chosen(
  spec: { readonly resources: readonly { readonly description?: string }[] },
  streams: ReadonlyMap<string, JsonRecord>,
) {
  const name = spec.resources
    .map(({ description }) => /Of the ways to authenticate "([^"]+)"/.exec(description ?? '')?.[1])
    .find((found) => found !== undefined);
  const paths = [...streams.values()].map((stream) => {
    const whole = isRecord(stream['full_refresh_stream']) ? stream['full_refresh_stream'] : stream;
    return fields(fields(fields(whole, 'retriever'), 'requester'), 'authenticator')['authenticator_selection_path'];
  });
  const path = paths.find(Array.isArray);
  return name === undefined || path === undefined ? [] : [[path.map(String), name] as const];
}

interface CdkRead extends Read {
  readonly moment: string | null;
}

interface CdkJob {
  readonly manifest: JsonRecord;
  readonly config: JsonRecord;
  readonly streams: readonly { readonly name: string; readonly index: number }[];
  readonly program: string;
  readonly respond: (
    name: string,
    request: AskedRequest,
  ) => {
    readonly status: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string | Uint8Array;
  };
}

async function readByCdk({
  manifest,
  config,
  streams,
  program,
  respond,
}: CdkJob): Promise<Readonly<Record<string, CdkRead>>> {
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const url = new URL(String(request.headers['x-mock-url']));
      const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
      const asked = {
        method: request.method ?? 'GET',
        url,
        headers: { ...headers, 'x-mock-url': '' },
        body: Buffer.concat(parts).toString(),
      };
      const { status, headers: sent, body } = respond(String(request.headers['x-mock-stream']), asked);
      response.writeHead(status, sent).end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const folder = mkdtempSync(join(tmpdir(), 'differential-'));
  const [job, result] = [join(folder, 'job.json'), join(folder, 'result.json')];
  writeFileSync(
    job,
    JSON.stringify({
      manifest,
      config,
      streams,
      moments,
      mock: `http://127.0.0.1:${port}/`,
      now: now.toISOString(),
      requestsMax: 2000,
    }),
  );
  const child = spawn(program, [join(here, 'read-by-cdk.py'), job, result], {
    stdio: ['ignore', 'ignore', process.env['TRACE'] ? 'inherit' : 'ignore'],
  });
  await new Promise((resolve) => child.on('exit', resolve));
  server.close();
  server.closeAllConnections();
  return existsSync(result) ? (JSON.parse(readFileSync(result, 'utf8')) as Readonly<Record<string, CdkRead>>) : {};
}

const [folder, only, stream] = process.argv.slice(2);
if (folder === undefined) throw new Error('usage: npm run differential -- <folder of manifests> [manifest] [stream]');
const program = python();
const counts = { same: 0, 'same records': 0, different: 0, 'not compared': 0 };
for (const name of readdirSync(folder)
  .filter((file) => file.endsWith('.yaml') && (only === undefined || file.startsWith(only)))
  .toSorted()) {
  const outcomes = await compareManifest(join(folder, name), program, stream);
  for (const [streamName, outcome] of outcomes) {
    counts[outcome.kind] += 1;
    const detail = outcome.kind === 'same' ? `${outcome.requests} requests, ${outcome.records} records` : outcome.why;
    process.stdout.write(`${name} ${streamName}: ${outcome.kind}: ${detail}\n`);
  }
}
process.stdout.write(`${JSON.stringify(counts)}\n`);

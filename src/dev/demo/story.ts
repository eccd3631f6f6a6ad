/** The story of the demo: each step shows and verifies its result. */
import type { CallLogRow, RunRow } from '../../core/resources/run.ts';
import { attribution } from './cities.ts';
import { count } from './console.ts';
import type { CityRow } from './destination.ts';
import { countsOf, recordsPerSecond, type Scene, syncAndWatch } from './scene.ts';
import { citiesSpec, evilSpec, pageSize, type targetTable } from './specs.ts';

export interface Connections {
  readonly cities: string;
  readonly evil: string;
}

export interface SyncFacts {
  readonly runId: string;
  readonly status: string;
  readonly recordsIn: number;
  readonly recordsOut: number;
  readonly skipped: number;
  readonly quarantined: number;
  readonly recordsPerSecond: number;
}

export async function makeConnections(scene: Scene, workspaceId: string): Promise<Connections> {
  const { api, upstream, destination, screen } = scene;
  for (const spec of [citiesSpec, evilSpec]) {
    await api.createSpec(spec);
    await api.publishSpec(spec);
  }
  const connect = async (spec: typeof citiesSpec | typeof evilSpec, params: object, secrets: object) => {
    const { key: specKey, version: specVersion, name: displayName } = spec.metadata;
    const values = { params: { ...params }, secrets: { databaseUrl: destination.url, ...secrets } };
    const { id } = await api.createConnection({ workspaceId, specKey, specVersion, displayName, ...values });
    await api.activate(id);
    return id;
  };
  const cities = await connect(citiesSpec, { apiUrl: upstream.url }, { token: upstream.token });
  const evil = await connect(evilSpec, {}, {});
  screen.step(`specs published, connections active: "${citiesSpec.metadata.name}" and "${evilSpec.metadata.name}"`);
  return { cities, evil };
}

export async function firstSync(
  scene: Scene,
  connectionId: string,
  watch?: (run: RunRow) => Promise<void>,
): Promise<SyncFacts> {
  const { screen, checks, recordCount, brokenCount } = scene;
  screen.note(`${attribution}: ${count(recordCount)} records, ${pageSize} per page`);
  const pages = Math.ceil(recordCount / pageSize);
  const run = await syncAndWatch(scene, { connectionId, resource: 'cities', pages, onPoll: watch });
  const { recordsIn, recordsOut, skipped, quarantined } = run.statsJson;
  screen.step(`first sync ${run.status}: ${countsOf(run)}  ${count(recordsPerSecond(run))} rec/s`);
  checks.verify('records read', recordsIn, recordCount);
  checks.verify('out + skipped + quarantined', recordsOut + skipped + quarantined, recordsIn);
  checks.verify('quarantined', quarantined, brokenCount);
  checks.verify('status', run.status, brokenCount > 0 ? 'partial' : 'succeeded');
  return factsOf(run);
}

/** Returns the number of rows. */
export async function showRows(scene: Scene, connectionId: string, run: SyncFacts): Promise<number> {
  const { screen, checks, destination, api } = scene;
  const table: `${typeof targetTable.schema}.${typeof targetTable.table}` = 'demo.cities';
  screen.step(`select … from ${table} order by id limit 5`);
  screen.table(cellsOf(await destination.firstRows(connectionId, 5)));
  const rows = await destination.countRows(connectionId);
  checks.verify(`select count(*) from ${table}`, rows, run.recordsOut);
  const kept = (await api.quarantine(connectionId)).toReversed();
  checks.verify('records in GET /quarantine', kept.length, run.quarantined);
  screen.table([
    ['record', 'why it is in quarantine'],
    ...kept.map(({ externalId, validationErrors }) => [`id ${externalId}`, reasonsOf(validationErrors)]),
  ]);
  return rows;
}

/** Returns the number of retries. */
export async function showRetries({ screen, checks, api, upstream }: Scene, runId: string): Promise<number> {
  const calls = await api.calls(runId);
  const refused = calls.filter(({ statusCode }) => statusCode !== null && statusCode >= 400);
  screen.step(`call log of the run: ${count(calls.length)} requests`);
  for (const call of refused) {
    const later = laterOf(call, calls);
    screen.note(`${describe(call)}; then ${later ? responseOf(later) : 'nothing'}`);
  }
  const { responses } = upstream.journal();
  const served = (responses['429'] ?? 0) + (responses['503'] ?? 0);
  const repaired = refused.filter((call) => laterOf(call, calls)?.statusCode === 200).length;
  checks.verify('errors of the API, each retried with success', repaired, served);
  return repaired;
}

/** Nothing has changed, so nothing is delivered. */
export async function secondSync(scene: Scene, connectionId: string): Promise<SyncFacts> {
  const run = await syncAndWatch(scene, { connectionId, resource: 'cities' });
  scene.screen.step(`second sync ${run.status}: ${countsOf(run)}`);
  scene.checks.verify('delivered when nothing has changed', run.statsJson.recordsOut, 0);
  return factsOf(run);
}

/** Two records change at the source, and only these are delivered. */
export async function changeSync(scene: Scene, connectionId: string): Promise<SyncFacts> {
  const { upstream, screen, checks, destination } = scene;
  const before = await destination.countRows(connectionId);
  const touched = await touch(upstream.url, 2);
  const run = await syncAndWatch(scene, { connectionId, resource: 'cities' });
  screen.step(`third sync, after records ${touched.join(' and ')} changed, ${run.status}: ${countsOf(run)}`);
  screen.table(cellsOf(await destination.newestRows(connectionId, 2)));
  checks.verify('delivered when two have changed', run.statsJson.recordsOut, touched.length);
  checks.verify('rows after that', await destination.countRows(connectionId), before);
  return factsOf(run);
}

/** Returns the run's error code. */
export async function blockedSync(scene: Scene, connectionId: string): Promise<string> {
  const { screen, checks, api } = scene;
  const run = await syncAndWatch(scene, { connectionId, resource: 'credentials' });
  const { code = 'none', message = '' } = run.error ?? {};
  screen.step(`"${evilSpec.metadata.name}" syncs from the cloud's metadata address: ${run.status}`);
  screen.note(message);
  const calls = await api.calls(run.id);
  for (const call of calls) screen.note(describe(call));
  checks.verify('error', code, 'egress_blocked');
  checks.verify('attempts without a response', calls.filter(({ statusCode }) => statusCode === null).length, 1);
  return code;
}

const factsOf = (run: RunRow): SyncFacts => {
  const { recordsIn, recordsOut, skipped, quarantined } = run.statsJson;
  const counts = { recordsIn, recordsOut, skipped, quarantined, recordsPerSecond: recordsPerSecond(run) };
  return { runId: run.id, status: run.status, ...counts };
};

const cellsOf = (rows: readonly CityRow[]): readonly (readonly string[])[] => [
  ['id', 'name', 'country', 'region', 'lat', 'lng', 'updated_at'],
  ...rows.map(({ id, name, country, region, lat, lng, updated_at }) =>
    [id, name, country, region, lat, lng, updated_at.toISOString()].map(String),
  ),
];

function reasonsOf(errors: unknown): string {
  if (!Array.isArray(errors)) return JSON.stringify(errors);
  return errors.map(({ path, message }) => `${path}: ${message}`).join('; ');
}

const laterOf = (call: CallLogRow, calls: readonly CallLogRow[]): CallLogRow | undefined =>
  calls.find(({ url, sequence }) => url === call.url && sequence > call.sequence);

const describe = (call: CallLogRow): string => `${call.method} ${call.url}: ${responseOf(call)}`;

function responseOf({ attempt, statusCode, respHeaders }: CallLogRow): string {
  const resetAfter = respHeaders['x-ratelimit-reset-after'];
  const retry = typeof resetAfter === 'string' ? `, retry after ${resetAfter} s` : '';
  return `${statusCode ?? 'no response'}${retry} (attempt ${attempt})`;
}

async function touch(upstreamUrl: string, howMany: number): Promise<readonly number[]> {
  const body = JSON.stringify({ count: howMany });
  const response = await fetch(`${upstreamUrl}/control/touch`, { method: 'POST', body });
  const { touched } = (await response.json()) as { readonly touched: readonly number[] };
  return touched;
}

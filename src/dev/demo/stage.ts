import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { openDatabase } from '../../../db/client.ts';
import type { Config } from '../../config/config.ts';
import { createOrg } from '../../control/orgs/orgs.ts';
import { freePort } from '../embedded/ports.ts';
import type { Checks } from './checks.ts';
import { loadCities } from './cities.ts';
import { createCityFeed } from './city-feed.ts';
import { createApiClient } from './client.ts';
import { componentsOf } from './components.ts';
import type { Screen } from './console.ts';
import { openDemoDestination } from './destination.ts';
import type { Links } from './links.ts';
import type { Scene } from './scene.ts';
import { type Service, type ServiceOptions, startService } from './service.ts';
import { startDemoUpstream } from './upstream.ts';

/** Enough to take a moment, too few to bore; the data set has 171,075. */
const cityCount = 100_000;

/** Disposing stops everything in reverse order. */
export interface Stage extends AsyncDisposable {
  readonly workspaceId: string;
  readonly service: Service;
  readonly links: Omit<Links, 'connectionId'>;
  scene(checks: Checks): Scene;
}

/** Omits variables that would lead to other services than the demo's own, or change its output. */
export function demoEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const foreign =
    /^(DATABASE_URL|TEMPORAL_(?!CLI$).*|NODE_ENV|HOST|PUBLIC_URL|EGRESS_.*|DEFAULT_DESTINATION|WORKER_.*)$/;
  return Object.fromEntries(Object.entries(env).filter(([name]) => !foreign.test(name)));
}

export async function openStage(
  config: Config,
  { screen, signal }: { readonly screen: Screen; readonly signal: AbortSignal },
): Promise<Stage> {
  await using opened = new AsyncDisposableStack();
  const logFile = join(config.dataDir, 'demo.log');
  const { upstream, service, records, allowed } = await startServers(config, { logFile, signal, opened });
  const { ready } = service;
  const database = { poolSize: 2, applicationName: 'connector-sync demo', onIdleError() {} };
  const db = opened.adopt(openDatabase(ready.databaseUrl, database), (pool) => pool.destroy());
  screen.step(await componentsOf(db, ready));
  screen.note(`EGRESS_ALLOW=${allowed}: the demo's API and its destination; all other private addresses are blocked`);
  const destination = opened.use(await openDemoDestination(ready.databaseUrl));
  const { workspaces, apiKey } = await createOrg(
    { db },
    { name: 'Demo', plan: 'standard', activeConnectionsMax: null },
  );
  const api = createApiClient(ready.apiUrl, apiKey.key);
  const brokenCount = records.filter((record) => record.made_up !== undefined).length;
  const scene = { screen, signal, api, upstream, destination, recordCount: records.length, brokenCount };
  const held = opened.move();
  return {
    workspaceId: workspaces.find(({ kind }) => kind === 'dev')?.id ?? '',
    service,
    links: { ready, apiKey: apiKey.key, destinationUrl: destination.url, logFile, upstreamUrl: upstream.url },
    scene: (checks) => ({ ...scene, checks }),
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

interface Starting {
  readonly logFile: string;
  readonly signal: AbortSignal;
  readonly opened: AsyncDisposableStack;
}

async function startServers(config: Config, { logFile, signal, opened }: Starting) {
  const token = randomBytes(16).toString('hex');
  const upstream = opened.use(await startDemoUpstream({ feed: () => feed, token }));
  const env = await childEnvironment(config);
  const foretold = await freePort(databasePort);
  const starting = startAllowing(upstream.hostPort, { dataDir: config.dataDir, env, logFile, signal, foretold });
  const records = loadCities(cityCount);
  const feed = createCityFeed(records);
  const { service, allowed } = await starting;
  opened.use(service);
  return { upstream, service, records, allowed };
}

async function childEnvironment({ port, dataDir }: Config): Promise<NodeJS.ProcessEnv> {
  return { ...demoEnvironment(process.env), DATA_DIR: dataDir, PORT: String(await freePort(port)) };
}

const databasePort = 54_329;
const startsMax = 3;

/**
 * The allow list has exactly two addresses. PostgreSQL's port is known only once it runs, so it is guessed; after a
 * wrong guess the service is started again.
 */
async function startAllowing(
  upstreamHostPort: string,
  { foretold, ...options }: ServiceOptions & { readonly foretold: number },
): Promise<{ readonly service: Service; readonly allowed: string }> {
  let port = foretold;
  for (let starts = 1; starts <= startsMax; starts += 1) {
    const allowed = `${upstreamHostPort},127.0.0.1:${port}`;
    const service = await startService({ ...options, env: { ...options.env, EGRESS_ALLOW: allowed } });
    const actual = Number(new URL(service.ready.databaseUrl).port);
    if (actual === port) return { service, allowed };
    await service[Symbol.asyncDispose]();
    port = actual;
  }
  throw new Error('The port of the embedded PostgreSQL changes with every start: other programs keep taking it.');
}

import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Kysely } from 'kysely';
import { openDatabase } from '../../db/client.ts';
import type { Database } from '../../db/schema.ts';
import type { Config } from '../config.ts';
import { createOrg } from '../control/orgs.ts';
import { createLog } from '../log.ts';
import { type Stack, startStack } from '../supervisor.ts';
import type { Checks } from './checks.ts';
import { loadCities } from './cities.ts';
import { createCityFeed } from './city-feed.ts';
import { createApiClient } from './client.ts';
import type { Screen } from './console.ts';
import type { WorkerControl } from './crash.ts';
import { openDemoDestination } from './destination.ts';
import type { Links } from './links.ts';
import type { Scene } from './scene.ts';
import { startDemoUpstream } from './upstream.ts';

/** How many cities the demo's API has: enough to take a moment, too few to bore. The data set has 171,075. */
const cityCount = 100_000;

/** Everything that runs for the demo. Disposing stops it in reverse order. */
export interface Stage extends AsyncDisposable {
  readonly workspaceId: string;
  readonly worker: WorkerControl;
  readonly links: Omit<Links, 'connectionId'>;
  /** What the steps of the story work with. */
  scene(checks: Checks): Scene;
  /** Why a run failed, as the control database has it. */
  errorOf(runId: string): Promise<{ readonly code: string; readonly message: string }>;
}

/** Starts the upstream, the whole service and a destination; makes an org of its own for this demo. */
export async function openStage(config: Config, screen: Screen): Promise<Stage> {
  await using opened = new AsyncDisposableStack();
  const records = loadCities(cityCount);
  const token = randomBytes(16).toString('hex');
  const upstream = opened.use(await startDemoUpstream({ feed: createCityFeed(records), token }));
  const logFile = join(config.dataDir, 'demo.log');
  const stack = await startService(config, { logFile, upstream: upstream.hostPort });
  opened.defer(() => stack.stop());
  const { apiUrl, uiUrl, databaseUrl, temporalNamespace: namespace } = stack.ready;
  const db = openDatabase(databaseUrl, { poolSize: 2, applicationName: 'connector-sync demo', onIdleError() {} });
  opened.defer(() => db.destroy());
  const destination = opened.use(await openDemoDestination(databaseUrl));
  const { workspaces, apiKey } = await createOrg(
    { db },
    { name: 'Demo', plan: 'standard', activeConnectionsMax: null },
  );
  const api = createApiClient(apiUrl, apiKey.key);
  const brokenCount = records.filter((record) => record.made_up !== undefined).length;
  const held = opened.move();
  return {
    workspaceId: workspaces.find(({ kind }) => kind === 'dev')?.id ?? '',
    worker: { kill: () => stack.kill('worker', 'SIGKILL'), pid: () => stack.pids().worker },
    links: {
      apiUrl,
      uiUrl,
      namespace,
      apiKey: apiKey.key,
      destinationUrl: destination.url,
      logFile,
      upstreamUrl: upstream.url,
    },
    scene: (checks) => ({ screen, checks, api, upstream, destination, recordCount: records.length, brokenCount }),
    errorOf: (runId) => readError(db, runId),
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

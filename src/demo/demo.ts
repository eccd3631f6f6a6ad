/**
 * `npm run demo`: starts everything, syncs real rows over real HTTP into PostgreSQL, shows and verifies them, stays up.
 * `--once` stops at the end, `--crash` kills the worker in the middle, `--reset` wipes. At a terminal it speaks to
 * people; otherwise stdout gets one line of JSON, the rest goes to stderr. Exit code 1: a number was not as promised.
 */
import { parseArgs } from 'node:util';
import type { Config } from '../config.ts';
import { configOrExit } from '../entry.ts';
import { createLog } from '../log.ts';
import { createChecks } from './checks.ts';
import { createScreen, type Screen } from './console.ts';
import { crashSync } from './crash.ts';
import { showLinks } from './links.ts';
import { wipe } from './reset.ts';
import { embeddedOnly, openStage, type Stage } from './stage.ts';
import { blockedSync, changeSync, firstSync, makeConnections, secondSync, showRetries, showRows } from './story.ts';

const terminal = process.stdout.isTTY;
const screen = createScreen(terminal ? process.stdout : process.stderr, 0);
const stopped = Promise.withResolvers<NodeJS.Signals>();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stopped.resolve);

const summary = await main();
if (!terminal) process.stdout.write(`${JSON.stringify(summary)}\n`);
process.exitCode = summary.ok ? 0 : 1;

/** Everything the demo found; `failures` names what was not as promised. */
type Summary = { readonly ok: boolean; readonly failures: readonly string[] } & Readonly<Record<string, unknown>>;

async function main(): Promise<Summary> {
  const { values } = parseArgs({
    options: { once: { type: 'boolean' }, crash: { type: 'boolean' }, reset: { type: 'boolean' } },
  });
  const { once = false, crash = false, reset = false } = values;
  const config = configOrExit(embeddedOnly(process.env));
  try {
    if (reset) await wipeAndTell(config);
    if (reset && !once && !crash) return { ok: true, failures: [], wiped: config.dataDir };
    return await play(config, { once, crash });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    screen.step(`✗ ${message}`);
    return { ok: false, failures: [message] };
  }
}

async function wipeAndTell({ dataDir }: Config): Promise<void> {
  const removed = await wipe(dataDir, createLog({ level: 'silent', name: 'demo' }));
  screen.step(removed.length === 0 ? 'there is nothing to wipe' : `wiped: ${removed.join(' ')}`);
}

async function play(
  config: Config,
  { once, crash }: { readonly once: boolean; readonly crash: boolean },
): Promise<Summary> {
  const checks = createChecks(screen);
  await using stage = await openStage(config, screen);
  const told = await Promise.race([tellStory(stage, { checks, crash }), stopped.promise.then(interrupted)]);
  const seconds = Number((performance.now() / 1000).toFixed(1));
  const { failures, count } = checks;
  screen.step(failures.length === 0 ? `all ${count} promises kept` : `${failures.length} of ${count} promises broken`);
  if (!once && failures.length === 0) await stopped.promise;
  screen.step('stopping');
  return { ok: failures.length === 0, seconds, checks: count, failures, ...told };
}

async function tellStory(
  { scene: sceneWith, worker, errorOf, workspaceId, links }: Stage,
  { checks, crash }: { readonly checks: ReturnType<typeof createChecks>; readonly crash: boolean },
) {
  const scene = sceneWith(checks);
  const connections = await makeConnections(scene, workspaceId);
  const first = crash
    ? await crashSync(scene, connections.cities, worker)
    : { run: await firstSync(scene, connections.cities) };
  const rowsByCount = await showRows(scene, connections.cities, first.run);
  const retries = await showRetries(scene, first.run.runId);
  const second = await secondSync(scene, connections.cities);
  const change = await changeSync(scene, connections.cities);
  const blocked = await blockedSync(scene, connections.evil, errorOf);
  showLinks(screen, { ...links, connectionId: connections.cities });
  return { ...first, rowsByCount, retries, second, change, blocked };
}

const interrupted = (signal: NodeJS.Signals): never => {
  throw new Error(`stopped by ${signal} before the end of the story`);
};

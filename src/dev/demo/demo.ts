/**
 * `npm run demo`: syncs real rows over real HTTP into PostgreSQL, verifies them and stays up. `--once` stops at the
 * end, `--crash` kills the worker midway, `--reset` wipes. Without a terminal, stdout gets one line of JSON and stderr
 * the rest; exit code 1 means that a number was not as promised.
 */
import { once as event } from 'node:events';
import { parseArgs } from 'node:util';
import type { Config } from '../../config/config.ts';
import { createLog } from '../../log.ts';
import { configOrExit } from '../../process/entry.ts';
import { createChecks } from './checks.ts';
import { createScreen } from './console.ts';
import { crashSync } from './crash.ts';
import { showLinks } from './links.ts';
import { wipe } from './reset.ts';
import { demoEnvironment, openStage, type Stage } from './stage.ts';
import { blockedSync, changeSync, firstSync, makeConnections, secondSync, showRetries, showRows } from './story.ts';

const terminal = process.stdout.isTTY;
const screen = createScreen(terminal ? process.stdout : process.stderr, 0);
const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stopping.abort());

process.exitCode = (await main()) ? 0 : 1;

type Summary = { readonly ok: boolean; readonly failures: readonly string[] } & Readonly<Record<string, unknown>>;

async function main(): Promise<boolean> {
  const { values } = parseArgs({
    options: { once: { type: 'boolean' }, crash: { type: 'boolean' }, reset: { type: 'boolean' } },
  });
  const { once = false, crash = false, reset = false } = values;
  const config = configOrExit(demoEnvironment(process.env));
  try {
    if (reset) await wipeAndTell(config);
    if (reset && !once && !crash) return summarise({ ok: true, failures: [], wiped: config.dataDir });
    return await play(config, { once, crash });
  } catch (error) {
    const message = stopping.signal.aborted ? 'stopped before the end of the story' : messageOf(error);
    screen.step(`✗ ${message}`);
    return summarise({ ok: false, failures: [message] });
  }
}

function summarise(summary: Summary): boolean {
  if (!terminal) process.stdout.write(`${JSON.stringify(summary)}\n`);
  return summary.ok;
}

async function wipeAndTell({ dataDir }: Config): Promise<void> {
  const removed = await wipe(dataDir, createLog({ level: 'silent', name: 'demo' }));
  screen.step(removed.length === 0 ? 'there is nothing to wipe' : `wiped: ${removed.join(' ')}`);
}

async function play(
  config: Config,
  { once, crash }: { readonly once: boolean; readonly crash: boolean },
): Promise<boolean> {
  const checks = createChecks(screen);
  await using stage = await openStage(config, { screen, signal: stopping.signal });
  const { cities, ...told } = await tellStory(stage, { checks, crash });
  const { failures, count } = checks;
  screen.step(failures.length === 0 ? `all ${count} checks passed` : `${failures.length} of ${count} checks failed`);
  const seconds = Number((performance.now() / 1000).toFixed(1));
  const ok = summarise({ ok: failures.length === 0, seconds, checks: count, failures, ...told });
  if (!once && ok && !stopping.signal.aborted) {
    showLinks(screen, { ...stage.links, connectionId: cities });
    await event(stopping.signal, 'abort');
  }
  screen.step('stopping');
  return ok;
}

async function tellStory(
  { scene: sceneWith, service, workspaceId }: Stage,
  { checks, crash }: { readonly checks: ReturnType<typeof createChecks>; readonly crash: boolean },
) {
  const scene = sceneWith(checks);
  const connections = await makeConnections(scene, workspaceId);
  const first = crash
    ? await crashSync(scene, connections.cities, service)
    : { run: await firstSync(scene, connections.cities) };
  const rowsByCount = await showRows(scene, connections.cities, first.run);
  const retries = await showRetries(scene, first.run.runId);
  const second = await secondSync(scene, connections.cities);
  const change = await changeSync(scene, connections.cities);
  const blocked = await blockedSync(scene, connections.evil);
  return { cities: connections.cities, ...first, rowsByCount, retries, second, change, blocked };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

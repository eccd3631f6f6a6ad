/**
 * `npm run simulate`: runs the engine through many seeds, each of which is one interleaving of everything that may happen
 * to it. A seed that fails is printed, and runs again, event by event, with `--seed N`.
 */
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { installParties } from './hooks.ts';
import { plants } from './plants.ts';
import { installVirtualTime } from './virtual-time.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '300' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    plant: { type: 'string' },
  },
});

/** Seeds of one process: what a killed worker held stays in its memory, about 1.4 MB for each seed. */
const seedsPerProcess = 250;

const plant = plants.find(({ name }) => name === values.plant) ?? null;
if (values.plant !== undefined && plant === null) throw new Error(`There is no bug "${values.plant}" to plant`);
const first = Number(values.seed ?? values.from);
const last = values.seed === undefined ? first + Number(values.seeds) - 1 : first;
const startedAt = process.hrtime.bigint();
const counts = new Map<string, number>();
const totals = { seeds: 0, failed: 0, events: 0 };
const add = (name: string, times: number): void => void counts.set(name, (counts.get(name) ?? 0) + times);

if (last - first < seedsPerProcess) await runHere();
else for (let seed = first; seed <= last && !(plant && totals.failed > 0); seed += seedsPerProcess) runPart(seed);

const seconds = Number(process.hrtime.bigint() - startedAt) / 1e9;
for (const [name, times] of [...counts].toSorted(([one], [other]) => (one < other ? -1 : 1)))
  process.stdout.write(`${String(times).padStart(9)} ${name}\n`);
const { seeds, failed, events } = totals;
process.stdout.write(`${seeds} seeds, ${failed} failed, ${events} events, ${(seeds / seconds).toFixed(1)} seeds/s\n`);
process.exitCode = failed > 0 ? 1 : 0;

async function runHere(): Promise<void> {
  installParties(plant);
  const { simulate } = await import('./world.ts');
  installVirtualTime();
  const trace = values.seed === undefined ? null : (line: string): void => void process.stdout.write(`${line}\n`);
  const unhandled: string[] = [];
  process.on('unhandledRejection', (error) => unhandled.push(`nobody handles ${String(error)}`));
  for (let seed = first; seed <= last && !(plant && totals.failed > 0); seed += 1) {
    const report = await simulate(seed, { trace });
    const violations = [...report.violations, ...unhandled.splice(0)];
    totals.seeds += 1;
    totals.events += report.events;
    for (const [name, times] of report.counts) add(name, times);
    if (violations.length === 0) continue;
    totals.failed += 1;
    process.stdout.write(`seed ${seed}:\n${violations.map((line) => `  ${line}\n`).join('')}`);
  }
}

/** Runs seeds in a process of its own, and adds what it has counted. Throws when it does not end with its totals. */
function runPart(from: number): void {
  const size = Math.min(seedsPerProcess, last - from + 1);
  const args = [import.meta.filename, '--from', String(from), '--seeds', String(size)];
  const { stdout, stderr } = spawnSync(process.execPath, [...args, ...(plant ? ['--plant', plant.name] : [])], {
    encoding: 'utf8',
    maxBuffer: 1e9,
  });
  const total = /^(\d+) seeds, (\d+) failed, (\d+) events/m.exec(stdout);
  if (!total) throw new Error(`The seeds from ${from} did not end: ${stderr}`);
  totals.seeds += Number(total[1]);
  totals.failed += Number(total[2]);
  totals.events += Number(total[3]);
  for (const [line, times, name = ''] of stdout.matchAll(/^ +(\d+) (.+)$|^(?:seed|  ).*$/gm)) {
    if (times === undefined) process.stdout.write(`${line}\n`);
    else add(name, Number(times));
  }
}

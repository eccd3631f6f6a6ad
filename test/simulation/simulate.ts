/**
 * `npm run simulate`: runs the engine through many seeds, each of which is one interleaving of everything that may happen
 * to it. A seed that fails is printed, and runs again, event by event, with `--seed N`.
 */
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

const plant = plants.find(({ name }) => name === values.plant) ?? null;
if (values.plant !== undefined && plant === null) throw new Error(`There is no bug "${values.plant}" to plant`);
const startedAt = process.hrtime.bigint();
installParties(plant);
const { simulate } = await import('./world.ts');
installVirtualTime();

const first = Number(values.seed ?? values.from);
const last = values.seed === undefined ? first + Number(values.seeds) - 1 : first;
const trace = values.seed === undefined ? null : (line: string): void => void process.stdout.write(`${line}\n`);
const totals = new Map<string, number>();
let events = 0;
let failed = 0;
const unhandled: string[] = [];
process.on('unhandledRejection', (error) => unhandled.push(`nobody handles ${String(error)}`));
for (let seed = first; seed <= last; seed += 1) {
  const report = await simulate(seed, { trace });
  const violations = [...report.violations, ...unhandled.splice(0)];
  events += report.events;
  for (const [name, times] of report.counts) totals.set(name, (totals.get(name) ?? 0) + times);
  if (violations.length === 0) continue;
  failed += 1;
  process.stdout.write(`seed ${seed}:\n${violations.map((line) => `  ${line}\n`).join('')}`);
  if (plant !== null) break;
}
const seconds = Number(process.hrtime.bigint() - startedAt) / 1e9;
for (const [name, times] of [...totals].toSorted(([one], [other]) => (one < other ? -1 : 1)))
  process.stdout.write(`${String(times).padStart(9)} ${name}\n`);
process.stdout.write(
  `${last - first + 1} seeds, ${failed} failed, ${events} events, ${((last - first + 1) / seconds).toFixed(1)} seeds/s\n`,
);
process.exitCode = failed > 0 ? 1 : 0;

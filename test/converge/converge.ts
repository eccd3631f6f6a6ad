/**
 * `npm run converge`: random stories of the whole service. Whatever has happened to a connection, once its API is at rest and
 * each resource was read twice with success, its tables are those of a fresh connection. A story that fails is printed, and
 * runs again, alone, with `--seed N`.
 */
import { parseArgs } from 'node:util';
import setup from '../support/service/setup.ts';
import { plants } from './plants.ts';
import { runStories } from './stories.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '20' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    at: { type: 'string', default: '8' },
    keep: { type: 'boolean', default: false },
    plant: { type: 'string' },
  },
});

const { plant } = values;
if (plant !== undefined && !plants.some(({ name }) => name === plant)) throw new Error(`There is no bug "${plant}"`);
const first = Number(values.seed ?? values.from);
const count = values.seed === undefined ? Number(values.seeds) : 1;
const startedAt = Date.now();
const end = await setup();
const failed: number[] = [];
let told = 0;
try {
  await runStories({
    seeds: Array.from({ length: count }, (_, index) => first + index),
    atOnce: Number(values.at),
    trace: values.seed === undefined ? null : (line) => void process.stdout.write(`  ${line}\n`),
    keep: values.keep,
    plant: plant ?? null,
    ended({ seed, lines, differences }) {
      told += 1;
      if (differences.length === 0) return;
      failed.push(seed);
      const story = values.seed === undefined ? lines.map((line) => `  ${line}\n`).join('') : '';
      process.stdout.write(`seed ${seed}:\n${story}${differences.map((line) => `  ! ${line}\n`).join('')}`);
    },
  });
} finally {
  await end();
}
const minutes = (Date.now() - startedAt) / 60_000;
const list = failed.toSorted((one, other) => one - other).join(', ');
process.stdout.write(
  `${told} stories, ${failed.length} failed${list && ` (${list})`}, ${(told / minutes).toFixed(1)} a minute\n`,
);
process.exitCode = failed.length > 0 ? 1 : 0;

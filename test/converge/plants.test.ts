import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { plants as ofSimulation } from '../simulation/plants.ts';
import { plants } from './plants.ts';
import { openStage, runStory } from './stories.ts';

test.each([...plants, ...ofSimulation])('one place has the code of the planted bug: $name', ({ file, code, bug }) => {
  const source = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
  expect(source.split(code)).toHaveLength(2);
  expect(bug).not.toBe(code);
});

const found = plants.flatMap(({ name, seed }) => (seed === null ? [] : [{ name, seed }]));

/** Times that a story is told: what the service does meanwhile is its own. */
const triesMax = 3;

async function isFound(seed: number, { place }: Awaited<ReturnType<typeof openStage>>): Promise<boolean> {
  for (let tries = 0; tries < triesMax; tries += 1) {
    const { differences } = await runStory(seed, { ...place, trace: null });
    const isEarly = differences.some((line) => line.startsWith('the story ended early'));
    if (differences.length > 0 && !isEarly) return true;
  }
  return false;
}

/** Services at once: stories wait for most of their time. */
const stagesMax = 3;

test(`${found.length} planted bugs are found by the stories that are known to find them`, async () => {
  const left = [...found];
  const missed: string[] = [];
  const work = async (): Promise<void> => {
    await using stage = await openStage();
    for (let plant = left.shift(); plant !== undefined; plant = left.shift()) {
      await stage.plant(plant.name);
      if (!(await isFound(plant.seed, stage))) missed.push(`${plant.name} (seed ${plant.seed})`);
    }
  };
  await Promise.all(Array.from({ length: stagesMax }, work));
  expect(missed).toEqual([]);
}, 600_000);

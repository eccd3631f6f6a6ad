import { expect, test } from 'vitest';
import { runStories, type StoryEnd } from './stories.ts';

/** Each is a story of its own; those of `npm run converge` begin with them. */
const seeds = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 17, 18, 19, 20, 21];

test(`after each of ${seeds.length} stories a connection has what a fresh one would have, and is quiet`, async () => {
  const ends: StoryEnd[] = [];
  await runStories({ seeds, atOnce: 8, trace: null, ended: (end) => void ends.push(end) });
  const failed = ends.filter(({ differences }) => differences.length > 0);
  for (const { seed, lines, differences } of failed)
    process.stderr.write(`seed ${seed}:\n${[...lines, ...differences].join('\n')}\n`);
  expect(failed.map(({ seed }) => seed)).toEqual([]);
  expect(ends).toHaveLength(seeds.length);
}, 300_000);

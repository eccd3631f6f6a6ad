import { expect, test } from 'vitest';
import { runStories, type StoryEnd } from './stories.ts';

/** Each is a story of its own; those of `npm run converge` begin with them. */
const seeds = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21];

test(`after each of ${seeds.length} stories a connection has what a fresh one would have, and is quiet`, async () => {
  const ends: StoryEnd[] = [];
  await runStories({ seeds, atOnce: 8, trace: null, ended: (end) => void ends.push(end) });
  const failed = ends.filter(({ differences }) => differences.length > 0);
  const told = failed.map(({ seed, lines, differences }) => [`seed ${seed}:`, ...lines, ...differences].join('\n'));
  expect(failed.length, told.join('\n\n')).toBe(0);
  expect(ends).toHaveLength(seeds.length);
}, 300_000);

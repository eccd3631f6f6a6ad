import type { Random } from '../simulation/random.ts';
import { type Account, isRefusal, outcomeOf } from './account.ts';
import type { Act } from './act.ts';
import { connectionActs } from './connection-acts.ts';
import { customerActs, makeTable } from './customer-acts.ts';
import { faultActs, syncFaulty } from './fault-acts.ts';
import { collectionOf, type ResourceKey } from './genes.ts';
import { historyActs } from './history-acts.ts';
import { keysOf, oneOf, some } from './scene.ts';
import type { Story } from './story.ts';
import { subset } from './subset.ts';
import { upgradeStory } from './upgrades.ts';

const syncAll = async (story: Story): Promise<string> => {
  const outcomes: string[] = [];
  for (const key of keysOf(story)) outcomes.push(`${key}: ${outcomeOf(await story.account.sync(key))}`);
  return outcomes.join('; ');
};

/** Syncs a resource; `midway` happens before one of its pages, or after the run if it has too few. */
async function syncWith(story: Story, key: ResourceKey, midway: () => string | Promise<string>): Promise<string> {
  const { api, account, random } = story;
  let said = '';
  const page = random.between(1, 4);
  api.beforePage(page, async () => {
    said = `before page ${page}: ${await midway()}`;
  });
  const run = outcomeOf(await account.sync(key));
  if (!api.disarm()) said = `after it: ${await midway()}`;
  return `${key}: ${run}; ${said}`;
}

const kill = (story: Story, key: ResourceKey): Promise<string> =>
  syncWith(story, key, async () => {
    await story.replaceWorker();
    return 'kill -9';
  });

async function cancelMidway(story: Story, account: Account, key: ResourceKey): Promise<string> {
  const page = story.random.between(1, 3);
  const requested = await account.request(key);
  if (isRefusal(requested)) return requested.refused;
  story.api.beforePage(page, () => account.cancel(requested.id));
  const run = outcomeOf(await account.ended(requested.id));
  story.api.disarm();
  return `${key}: ${run}`;
}

async function requeue(story: Story): Promise<number> {
  story.hasRequeued = true;
  return await story.account.requeue();
}

async function backfill(story: Story): Promise<string> {
  const { random, account } = story;
  const key = oneOf(story);
  const force = random.chance(0.5);
  const run = await account.backfill({ resource: key, force });
  if (!isRefusal(run) && run.status === 'succeeded') story.shaped.delete(key);
  return `${key}${force ? ' force' : ''}: ${outcomeOf(run)}`;
}

async function rewind(story: Story): Promise<string> {
  const { account } = story;
  const key = oneOf(story);
  const to = new Date().toISOString();
  const moved = some(story, 3);
  const between = outcomeOf(await account.sync(key));
  return `${key} to ${to}: ${moved}; ${between}; ${outcomeOf(await account.backfill({ resource: key, rewindTo: to }))}`;
}

/** All of them. */
const acts: readonly Act[] = [
  { name: 'the API changes', weight: 12, run: async (story) => some(story, 5) },
  { name: 'sync of all', weight: 12, run: syncAll },
  {
    name: 'sync',
    weight: 5,
    run: async (story) => {
      const key = oneOf(story);
      return `${key}: ${outcomeOf(await story.account.sync(key))}`;
    },
  },
  {
    name: 'sync while the API changes',
    weight: 12,
    run: async (story) => {
      const before = story.random.chance(0.5) ? `${some(story, 5)}; ` : '';
      return `${before}${await syncWith(story, oneOf(story), () => some(story, 4))}`;
    },
  },
  { name: 'sync and kill -9', weight: 1, run: (story) => kill(story, oneOf(story)) },
  { name: 'sync that is canceled', weight: 2, run: (story) => cancelMidway(story, story.account, oneOf(story)) },
  { name: 'upgrade', weight: 9, run: upgradeStory },
  {
    name: 'requeue',
    weight: 3,
    run: async (story) => `${await requeue(story)} records`,
  },
  {
    name: 'requeue while it is read',
    weight: 3,
    run: (story) =>
      syncWith(story, oneOf(story), async () => {
        const moved = some(story, 3);
        return `${moved}; requeued ${await requeue(story)}`;
      }),
  },
  { name: 'backfill', weight: 4, run: backfill },
  { name: 'rewind', weight: 3, run: rewind },
  ...connectionActs,
  ...faultActs,
  ...customerActs,
  ...historyActs,
];

/** Some of the acts, for one story: the others would repair what these lose. */
export const someActs = (random: Random): readonly Act[] => subset(random, acts);

/** Most stories begin with this. */
export async function begin(story: Story): Promise<void> {
  if (story.random.chance(0.15)) {
    const made: (string | null)[] = [];
    for (const { key } of story.genes.resources) made.push(await makeTable(story, collectionOf(key)));
    story.log(`tables of the customer's own: ${made.join(', ')}`);
  }
  const kind = story.random.next();
  if (kind < 0.5) return story.log(`first sync: ${await syncAll(story)}`);
  if (kind < 0.7) return story.log(`first sync of an API that responds badly: ${await syncFaulty(story)}`);
  for (const key of keysOf(story))
    story.log(`first sync while the API changes: ${await syncWith(story, key, () => some(story, 4))}`);
}

/** Acts that are tried until one can happen. */
const triesMax = 10;

/** One of some acts that can happen now; its name and effect go to the log. */
export async function act(story: Story, known: readonly Act[]): Promise<void> {
  for (let tries = 0; tries < triesMax; tries += 1) {
    const { name, run } = story.random.pick(known);
    const effect = await run(story);
    if (effect === null) continue;
    story.log(`${name}: ${effect}`);
    return;
  }
}

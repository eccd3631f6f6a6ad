import { outcomeOf } from './account.ts';
import type { Act } from './act.ts';
import { collectionOf, isIncremental } from './genes.ts';
import { oneOf, some } from './scene.ts';
import type { Story } from './story.ts';

async function patchParams(story: Story, change: Partial<Story['params']>): Promise<string> {
  const params = { ...story.params, ...change };
  const refused = await story.account.patch({ params });
  if (refused) return `refused: ${refused.refused}`;
  story.params = params;
  return JSON.stringify(change);
}

async function switchDestination(story: Story): Promise<string> {
  const next = story.destinations[story.destination === story.destinations[0] ? 1 : 0];
  const refused = await story.account.patch({ secrets: { target: next.address } });
  if (refused) return `refused: ${refused.refused}`;
  story.destination = next;
  story.wasElsewhere = true;
  return next === story.destinations[0] ? 'to A' : 'to B';
}

/** The connection delivers elsewhere for a while, where a sync may fail. */
async function goAndReturn(story: Story): Promise<string> {
  const { api, account, random } = story;
  const moved = random.chance(0.7) ? `${some(story, 4)}; ` : '';
  const there = await switchDestination(story);
  const key = oneOf(story);
  const isAway = random.chance(0.3);
  if (isAway) api.fault = { kind: 'error with status 200', collection: collectionOf(key), left: 100 };
  const run = outcomeOf(await account.sync(key));
  api.fault = null;
  if (isAway) await account.activate();
  return `${moved}${there}; ${key}: ${run}; ${await switchDestination(story)}`;
}

async function rotateToken(story: Story): Promise<string> {
  const { account, api, random } = story;
  const token = `token-${random.between(2, 9999)}`;
  api.token = token;
  const key = oneOf(story);
  const isSynced = random.chance(0.5);
  const failed = isSynced ? outcomeOf(await account.sync(key)) : 'no sync meanwhile';
  await account.patch({ secrets: { token } });
  await account.activate();
  return failed;
}

async function pause(story: Story): Promise<string> {
  const { account } = story;
  const key = oneOf(story);
  await account.pause();
  const refused = outcomeOf(await account.sync(key));
  const moved = some(story, 2);
  await account.activate();
  return `${refused.slice(0, 60)}; ${moved}`;
}

/** What integrators change at a connection. */
export const connectionActs: readonly Act[] = [
  {
    name: 'param area',
    weight: 3,
    run: async (story) =>
      story.genes.resources.some(({ byArea }) => byArea)
        ? await patchParams(story, { area: story.params.area === 'eu' ? 'us' : 'eu' })
        : null,
  },
  {
    name: 'param currency',
    weight: 3,
    run: async (story) => {
      if (!story.genes.resources.some(({ shape }) => shape.transforms && shape.currency)) return null;
      const said = await patchParams(story, { currency: story.random.pick(['EUR', 'USD', 'CHF']) });
      for (const resource of story.genes.resources)
        if (resource.shape.transforms && resource.shape.currency && isIncremental(resource))
          story.shaped.add(resource.key);
      return said;
    },
  },
  {
    name: 'param groups',
    weight: 3,
    run: async (story) =>
      story.genes.resources.every(({ each }) => each?.from !== 'values')
        ? null
        : await patchParams(story, {
            groups: story.random.pick([['a'], ['a', 'b'], ['b', 'a', 'c'], ['a', 'c', 'd'], ['d']]),
          }),
  },
  {
    name: 'a lookup changes',
    weight: 5,
    run: async ({ api, genes, shaped }) => {
      const using = genes.resources.filter(({ shape }) => shape.transforms && shape.lookup);
      if (using.length === 0 || !using.every(({ change }) => change.watchesLookup)) return null;
      for (const resource of using) if (isIncremental(resource)) shaped.add(resource.key);
      api.users += 1;
      return `version ${api.users}`;
    },
  },
  { name: 'destination', weight: 4, run: switchDestination },
  { name: 'another destination for a while', weight: 4, run: goAndReturn },
  { name: 'token', weight: 2, run: rotateToken },
  { name: 'pause', weight: 1, run: pause },
];

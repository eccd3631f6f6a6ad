import { type Account, isRefusal, outcomeOf } from './account.ts';
import type { Act } from './act.ts';
import { type ApiFault, apiFaults } from './api.ts';
import { customerActs } from './customer-acts.ts';
import type { ResourceGenes } from './genes.ts';
import { mutate } from './mutations.ts';
import type { Collection } from './records.ts';
import type { Story } from './story.ts';
import { upgradeStory } from './upgrades.ts';

const keysOf = ({ genes }: Story): readonly Collection[] => genes.resources.map(({ key }) => key);

const syncAll = async (story: Story): Promise<string> => {
  const outcomes: string[] = [];
  for (const key of keysOf(story)) outcomes.push(`${key}: ${outcomeOf(await story.account.sync(key))}`);
  return outcomes.join('; ');
};

/** Syncs a resource; `midway` happens before one of its pages, or after the run if it has too few. */
async function syncWith(story: Story, key: Collection, midway: () => string | Promise<string>): Promise<string> {
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

const some = (story: Story, most: number): string => mutate(story, story.random.between(1, most));

/** Whether the API may respond badly in this way: what no reader could notice may not cost it anything for ever. */
function isFair(kind: ApiFault, { cursor, deletes, mode }: ResourceGenes): boolean {
  if (kind === 'keys renamed') return cursor === null && deletes.mode !== 'none';
  if (kind === 'list cut' || kind === 'empty list')
    return cursor === null ? deletes.mode !== 'none' || mode === 'replace' : cursor.order === 'asc' && !cursor.window;
  return true;
}

async function syncFaulty(story: Story): Promise<string> {
  const { random, api, genes, account } = story;
  const kind = random.pick(apiFaults);
  const resource = random.pick(genes.resources);
  const times = random.between(1, 2);
  const midway = random.chance(0.4) ? random.between(2, 3) : 0;
  if (!isFair(kind, resource)) return `${kind} would not be fair`;
  const isOfLookups = kind.startsWith('plans') || kind === 'users busy';
  // A run waits for an API that is away; so it comes back soon.
  const left = kind === 'status 500' || kind === 'plans away' ? random.between(1, 5) : 100;
  const outcomes: string[] = [some(story, 2)];
  for (let time = 0; time < times; time += 1) {
    const fault = { kind, collection: isOfLookups ? null : resource.key, left };
    if (midway > 0) api.beforePage(midway, () => void (api.fault = fault));
    else api.fault = fault;
    outcomes.push(outcomeOf(await account.sync(resource.key)));
    api.disarm();
  }
  api.fault = null;
  await account.activate();
  return `${kind}${midway ? ` from page ${midway} on` : ''} at ${resource.key}: ${outcomes.join('; ')}`;
}

async function patchParams(story: Story, change: Partial<Story['params']>): Promise<string> {
  const params = { ...story.params, ...change };
  const refused = await story.account.patch({ params });
  if (refused) return `refused: ${refused.refused}`;
  story.params = params;
  return JSON.stringify(change);
}

async function kill(story: Story, key: Collection): Promise<string> {
  const killed = Promise.withResolvers<void>();
  const said = syncWith(story, key, async () => {
    await story.replaceWorker();
    killed.resolve();
    return 'kill -9';
  });
  return await said;
}

async function cancelMidway(story: Story, account: Account, key: Collection): Promise<string> {
  const page = story.random.between(1, 3);
  const requested = await account.request(key);
  if (isRefusal(requested)) return requested.refused;
  story.api.beforePage(page, () => account.cancel(requested.id));
  const run = outcomeOf(await account.ended(requested.id));
  story.api.disarm();
  return `${key}: ${run}`;
}

async function switchDestination(story: Story): Promise<string> {
  const next = story.destinations[story.destination === story.destinations[0] ? 1 : 0];
  const refused = await story.account.patch({ secrets: { databaseUrl: next.url } });
  if (refused) return `refused: ${refused.refused}`;
  story.destination = next;
  return next === story.destinations[0] ? 'to A' : 'to B';
}

async function rotateToken(story: Story): Promise<string> {
  const { account, api, random } = story;
  const token = `token-${random.between(2, 9999)}`;
  api.token = token;
  const key = random.pick(keysOf(story));
  const isSynced = random.chance(0.5);
  const failed = isSynced ? outcomeOf(await account.sync(key)) : 'no sync meanwhile';
  await account.patch({ secrets: { token } });
  await account.activate();
  return failed;
}

async function backfill(story: Story): Promise<string> {
  const { random, account } = story;
  const key = random.pick(keysOf(story));
  const force = random.chance(0.5);
  const run = await account.backfill({ resource: key, force });
  if (!isRefusal(run) && run.status === 'succeeded') story.shaped.delete(key);
  return `${key}${force ? ' force' : ''}: ${outcomeOf(run)}`;
}

async function rewind(story: Story): Promise<string> {
  const { random, account } = story;
  const key = random.pick(keysOf(story));
  const to = new Date().toISOString();
  const moved = some(story, 3);
  const between = outcomeOf(await account.sync(key));
  return `${key} to ${to}: ${moved}; ${between}; ${outcomeOf(await account.backfill({ resource: key, rewindTo: to }))}`;
}

async function pause(story: Story): Promise<string> {
  const { account, random } = story;
  const key = random.pick(keysOf(story));
  await account.pause();
  const refused = outcomeOf(await account.sync(key));
  const moved = some(story, 2);
  await account.activate();
  return `${refused.slice(0, 60)}; ${moved}`;
}

const oneOf = (story: Story): Collection => story.random.pick(keysOf(story));

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
    weight: 9,
    run: (story) => syncWith(story, oneOf(story), () => some(story, 4)),
  },
  { name: 'sync and kill -9', weight: 1, run: (story) => kill(story, oneOf(story)) },
  { name: 'sync that is canceled', weight: 2, run: (story) => cancelMidway(story, story.account, oneOf(story)) },
  { name: 'sync of an API that responds badly', weight: 8, run: syncFaulty },
  { name: 'upgrade', weight: 9, run: upgradeStory },
  {
    name: 'param area',
    weight: 3,
    run: (story) => patchParams(story, { area: story.params.area === 'eu' ? 'us' : 'eu' }),
  },
  {
    name: 'param currency',
    weight: 3,
    run: async (story) => {
      const said = await patchParams(story, { currency: story.random.pick(['EUR', 'USD', 'CHF']) });
      for (const { key, cursor, each, shape } of story.genes.resources)
        if (shape.transforms && shape.currency && (cursor || each?.select === 'changed')) story.shaped.add(key);
      return said;
    },
  },
  {
    name: 'param groups',
    weight: 3,
    run: (story) =>
      patchParams(story, { groups: story.random.pick([['a'], ['a', 'b'], ['b', 'a', 'c'], ['a', 'c', 'd'], ['d']]) }),
  },
  { name: 'destination', weight: 4, run: switchDestination },
  { name: 'token', weight: 2, run: rotateToken },
  {
    name: 'requeue',
    weight: 3,
    run: async (story) => `${await story.account.requeue()} records`,
  },
  {
    name: 'requeue while it is read',
    weight: 3,
    run: (story) =>
      syncWith(story, oneOf(story), async () => {
        const moved = some(story, 3);
        return `${moved}; requeued ${await story.account.requeue()}`;
      }),
  },
  { name: 'backfill', weight: 4, run: backfill },
  { name: 'rewind', weight: 3, run: rewind },
  { name: 'pause', weight: 1, run: pause },
  ...customerActs,
];

const weighted = acts.flatMap((one) => Array.from({ length: one.weight }, () => one));

/** One act at random; its name and effect go to the log. */
export async function act(story: Story): Promise<void> {
  const { name, run } = story.random.pick(weighted);
  const effect = await run(story);
  if (effect !== null) story.log(`${name}: ${effect}`);
}

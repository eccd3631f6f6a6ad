import { outcomeOf } from './account.ts';
import type { Act } from './act.ts';
import { type ApiFault, apiFaults } from './faults.ts';
import { collectionOf, type ResourceGenes } from './genes.ts';
import { remove, update } from './mutations.ts';
import { oneOf, some } from './scene.ts';
import { refusalForms } from './sink.ts';
import type { Story } from './story.ts';

async function refuse(story: Story): Promise<string | null> {
  const { random, account, api, destination } = story;
  if (!destination.sink) return null;
  const key = oneOf(story);
  const collection = collectionOf(key);
  const form = random.pick(refusalForms);
  const ids = new Set(random.shuffled(api.records.all(collection).map(({ id }) => id)).slice(0, random.between(1, 3)));
  const changed = [...ids].map((id) => {
    const isDeleted = random.chance(0.4);
    if (isDeleted) remove(story, collection, id);
    else update(story, { collection, id, fields: { name: `name ${random.between(100, 999)}` } });
    return `${isDeleted ? 'delete' : 'update'} ${id}`;
  });
  const times = random.between(1, 2);
  const left = random.between(1, 4);
  destination.sink.refusal = { form, ids, left: form.startsWith('by name') ? 100 : left };
  const outcomes: string[] = [];
  for (let time = 0; time < times; time += 1) outcomes.push(outcomeOf(await account.sync(key)));
  destination.sink.refusal = null;
  await account.activate();
  const fields = random.pick([null, { price: -5 }, { price: 8 }]);
  if (fields) for (const id of ids) if (api.records.find(collection, id)) update(story, { collection, id, fields });
  const after = fields ? `; then ${JSON.stringify(fields)}` : '';
  return `${form}, ${key}: ${changed.join(', ')}: ${outcomes.join('; ')}${after}`;
}

/** Whether the spec says where the API counts its records. */
const isCounted = ({ counts, kind }: ResourceGenes['pages']): boolean =>
  counts && (kind === 'page' || kind === 'offset');

/** Whether the API may respond badly in this way: what no reader could notice may not cost it anything for ever. */
function isFair(kind: ApiFault, { cursor, token, deletes, mode, pages, plan, shape }: ResourceGenes): boolean {
  const isFull = cursor === null && !token;
  if (kind.startsWith('plans')) return plan !== null;
  if (kind === 'users busy') return shape.transforms && shape.lookup;
  if (kind === 'keys renamed') return isFull && deletes.mode !== 'none';
  if (kind === 'count too low' || kind === 'empty page') {
    if (!isCounted(pages)) return false;
  } else if (kind !== 'list cut' && kind !== 'empty list') return true;
  return isFull ? deletes.mode !== 'none' || mode === 'replace' : cursor?.order === 'asc' && !cursor.window;
}

/** Whether no reader can tell that the list is not whole: then it may conclude that records are gone. */
function isUnnoticed(kind: ApiFault, { pages, each, deletes }: ResourceGenes, midway: number): boolean {
  if (kind === 'list cut') return !isCounted(pages);
  // The brake holds where nothing at all is listed.
  if (kind === 'empty list') return midway > 0 || each !== null || deletes.brake === 'off';
  return kind === 'count too low';
}

/** Those that few resources can notice. */
const rareFaults: ReadonlySet<ApiFault> = new Set([
  'empty list',
  'list cut',
  'empty page',
  'keys renamed',
  'users busy',
  'error with status 200',
]);

/** Syncs a resource while its API responds badly. */
export async function syncFaulty(story: Story): Promise<string> {
  const { random, api, genes, account } = story;
  const resource = random.pick(genes.resources);
  const fair = apiFaults.filter((one) => isFair(one, resource));
  const kind = random.pick(fair.flatMap((one) => (rareFaults.has(one) ? [one, one, one] : [one])));
  const times = random.between(1, 2);
  const midway = random.chance(0.5) ? random.between(2, 3) : 0;
  const isOfLookups = kind.startsWith('plans') || kind === 'users busy';
  // A run waits for an API that is away; so it comes back soon.
  const left = kind === 'status 500' || kind === 'plans away' ? random.between(1, 5) : 100;
  const outcomes: string[] = [some(story, 6)];
  story.isBlind = isUnnoticed(kind, resource, midway);
  for (let time = 0; time < times; time += 1) {
    const fault = { kind, collection: isOfLookups ? null : collectionOf(resource.key), left };
    if (midway > 0) api.beforePage(midway, () => void (api.fault = fault));
    else api.fault = fault;
    outcomes.push(outcomeOf(await account.sync(resource.key)));
    api.disarm();
  }
  api.fault = null;
  story.isBlind = false;
  await account.activate();
  return `${kind}${midway ? ` from page ${midway} on` : ''} at ${resource.key}: ${outcomes.join('; ')}`;
}

async function expireTokens(story: Story): Promise<string | null> {
  const { api, genes } = story;
  const token = genes.resources.find((resource) => resource.token);
  if (!token) return null;
  const moved = some(story, 3);
  api.expireTokens();
  return moved;
}

/** What customers' systems do wrong for a while. */
export const faultActs: readonly Act[] = [
  { name: 'sync of an API that responds badly', weight: 12, run: syncFaulty },
  { name: 'the receiver refuses', weight: 8, run: refuse },
  { name: 'sync tokens expire', weight: 3, run: expireTokens },
];

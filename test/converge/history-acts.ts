import { isRefusal, outcomeOf } from './account.ts';
import type { Act } from './act.ts';
import { collectionOf, type ResourceGenes, type ResourceKey } from './genes.ts';
import { createLate, goBack } from './mutations.ts';
import type { Story } from './story.ts';

/** The resources that read a list, if each of them notices what happens to it. */
function readersOf(
  { genes, random }: Story,
  notices: (resource: ResourceGenes) => boolean,
): readonly ResourceGenes[] | null {
  const collection = collectionOf(random.pick(genes.resources).key);
  const readers = genes.resources.filter(({ key }) => collectionOf(key) === collection);
  return readers.every(notices) ? readers : null;
}

/** Delivers a resource as the API has it now, older versions too; false: that has failed. */
export async function deliverAgain({ account, owed, log }: Story, key: ResourceKey): Promise<boolean> {
  const run = await account.backfill({ resource: key, force: true });
  const isDone = !isRefusal(run) && run.status === 'succeeded';
  if (isDone) owed.delete(key);
  log(`${key} is delivered again: ${outcomeOf(run)}`);
  return isDone;
}

/** A record has an older version again, as after a restore of the API: a person has its resources delivered again. */
async function recordGoesBack(story: Story): Promise<string | null> {
  const readers = readersOf(story, ({ cursor }) => cursor?.initial !== 'now-P7D');
  const [reader] = readers ?? [];
  if (!readers || !reader) return null;
  const id = goBack(story, collectionOf(reader.key));
  if (id === null) return null;
  for (const { key } of readers) story.owed.add(key);
  for (const { key } of readers) await deliverAgain(story, key);
  return id;
}

/** A cursor of numbers is behind a record that is committed late, unless it looks back. */
const looksBack = ({ cursor, token }: ResourceGenes): boolean =>
  !token && cursor?.field !== 'text' && (cursor?.field !== 'seq' || cursor.lookback > 0);

/** What happens to the history of the API. */
export const historyActs: readonly Act[] = [
  { name: 'a record goes back', weight: 3, run: recordGoesBack },
  {
    name: 'a record comes late',
    weight: 3,
    run: async (story) => {
      const [reader] = readersOf(story, looksBack) ?? [];
      return reader ? createLate(story, collectionOf(reader.key)) : null;
    },
  },
];

import type { Account } from './account.ts';
import { isListedBy } from './compare.ts';
import type { ResourceKey } from './genes.ts';
import type { Story } from './story.ts';

/** An account of which each run of a full scan is watched: none deletes a record that the API lists all the time. */
export function witnessed(account: Account, story: Story): Account {
  const watch = async <Run>(key: ResourceKey, run: () => Promise<Run>): Promise<Run> => {
    const before = await listedRows(story, key);
    const result = await run();
    if (before.size === 0 || story.isBlind) return result;
    const after = await listedRows(story, key);
    for (const [id, { rev, isThere }] of before) {
      const now = after.get(id);
      if (isThere && now?.rev === rev && !now.isThere)
        story.losses.push(`${key} ${id}: a run deletes it although it is listed`);
    }
    return result;
  };
  return {
    ...account,
    sync: (resource) => watch(resource as ResourceKey, () => account.sync(resource)),
    backfill: (body) => watch(body['resource'] as ResourceKey, () => account.backfill(body)),
  };
}

interface Listed {
  readonly rev: number;
  /** Whether the destination has its row. */
  readonly isThere: boolean;
}

/** The records that the API lists, by external id; none where no absence is concluded, or parents decide what is read. */
async function listedRows(story: Story, key: ResourceKey): Promise<ReadonlyMap<string, Listed>> {
  const resource = story.genes.resources.find((one) => one.key === key);
  const isWatched =
    resource?.deletes.mode === 'full_scan' && resource.mode === 'upsert' && resource.each?.from !== 'store';
  if (!resource || !isWatched || resource.each?.from === 'live') return new Map();
  const rows = await story.destination.rows(resource);
  const listed = story.api.records.all(key === 'children' || key === 'parents' ? key : 'items');
  return new Map(
    listed
      .filter((record) => isListedBy(story, resource, record))
      .map((record) => {
        const id = resource.wideKey ? JSON.stringify([record.id, record.fields['owner']]) : record.id;
        return [id, { rev: record.rev, isThere: rows.has(id) }];
      }),
  );
}

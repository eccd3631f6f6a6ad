import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { QuarantineRow } from '../../src/core/resources/quarantine.ts';
import type { RunRow } from '../../src/core/resources/run.ts';
import { type Account, isRefusal, openConnection, outcomeOf } from './account.ts';
import { compareTables } from './compare.ts';
import { openDestination, type StoryDestination } from './destinations.ts';
import { collectionOf, type ResourceGenes } from './genes.ts';
import { deliverAgain } from './history-acts.ts';
import { update } from './mutations.ts';
import type { Story } from './story.ts';

/** Runs of a resource until two in a row succeed; more means that it does not come to rest. */
const runsMax = 8;

/** What is wrong once everything is at rest; empty when the destination has converged. */
export async function checkStory(story: Story): Promise<readonly string[]> {
  if (story.losses.length > 0) return story.losses;
  await rest(story);
  const { genes, account } = story;
  for (const { key } of genes.resources)
    if (story.owed.has(key) && !(await deliverAgain(story, key))) await deliverAgain(story, key);
  for (const resource of genes.resources) {
    const restless = await settle(story, account, resource);
    if (restless !== null) return [restless];
  }
  const shaped = genes.resources.filter(({ key }) => story.shaped.has(key));
  for (const resource of shaped) await reshape(story, resource);
  await using fresh = await openDestination('fresh', genes.destination, story);
  const other = await freshConnection(story, fresh);
  if (typeof other === 'string') return [other];
  return [...(await compareAll(story, other, fresh)), ...(await quietRuns(story)), ...story.losses];
}

/** No more faults, the right token, an active connection, and no record that a run would fail at. */
async function rest(story: Story): Promise<void> {
  const { api, account, genes } = story;
  api.fault = null;
  for (const sink of story.sinks.values()) sink.refusal = null;
  api.disarm();
  for (const { key, onInvalid, mode } of genes.resources) {
    if (onInvalid !== 'fail' && mode !== 'replace') continue;
    for (const { id, fields } of api.records.all(collectionOf(key)))
      if (Number(fields['price']) < 0) update(story, { collection: collectionOf(key), id, fields: { price: 5 } });
  }
  await account.patch({ secrets: { token: api.token } });
  await account.activate();
  await letADayPass(story);
  story.log('at rest');
}

/** Runs that bring nothing ask a destination only once a day whether it is the same. */
async function letADayPass({ stack, account }: Story): Promise<void> {
  await stack.db
    .updateTable('lanes')
    .set({ recordedSince: sql<string>`recorded_since - interval '25 hours'` })
    .where('connectionId', '=', account.id)
    .execute();
}

/** Syncs until two runs in a row succeed. What a brake holds back is released, as a person would. Null: it is at rest. */
async function settle(story: Story, account: Account, resource: ResourceGenes): Promise<string | null> {
  const said: string[] = [];
  let successes = 0;
  let partials = 0;
  const needed = Math.max(2, resource.deletes.confirm + 1);
  for (let runs = 0; runs < runsMax && successes < needed; runs += 1) {
    if (resource.cache === 'ttl') await sleep(1100);
    const run = await account.sync(resource.key);
    said.push(outcomeOf(run));
    const status = isRefusal(run) ? 'refused' : statusOf(run, resource);
    successes = status === 'succeeded' ? successes + 1 : 0;
    partials = status === 'partial' ? partials + 1 : 0;
    const advised = isRefusal(run) ? null : adviceOf(run);
    if (advised) said.push(`as advised: ${outcomeOf(await account.backfill({ resource: resource.key, ...advised }))}`);
    if (partials < 2) continue;
    partials = 0;
    said.push(`force: ${outcomeOf(await account.backfill({ resource: resource.key, force: true }))}`);
  }
  story.log(`${resource.key} settles: ${said.join('; ')}`);
  return successes >= needed ? null : `${resource.key} does not come to rest: ${said.at(-1)}`;
}

/** What a run that found its destination behind says to do. */
function adviceOf({ error }: RunRow): Readonly<Record<string, unknown>> | null {
  const body = error?.code === 'destination_behind' ? /with (\{.*\})/.exec(error.message)?.[1] : undefined;
  return body === undefined ? null : JSON.parse(body);
}

/** Where nothing is known of records, each run meets the invalid ones again: it has done what it can. */
function statusOf({ status, notes, statsJson }: RunRow, { change }: ResourceGenes): RunRow['status'] {
  const isDone = status === 'partial' && notes['deletes_held_back'] === undefined;
  const isRepeated = change.mode === 'none' && statsJson.quarantined > 0;
  return isDone && isRepeated ? 'succeeded' : status;
}

/** Often does what the plan recommends; then nothing of an earlier shape may be left. */
async function reshape(story: Story, { key }: ResourceGenes): Promise<void> {
  if (!story.random.chance(0.7)) return;
  const run = await story.account.backfill({ resource: key });
  story.log(`${key} gets its shape: ${outcomeOf(run)}`);
  if (!isRefusal(run) && run.status !== 'failed') story.shaped.delete(key);
}

async function freshConnection(story: Story, { address }: StoryDestination): Promise<Account | string> {
  const { org, seed, version, params, api, genes } = story;
  const account = await openConnection(org, {
    spec: { key: `story-${seed}`, version },
    params: { ...params },
    secrets: { token: api.token, target: address },
  });
  for (const { key } of genes.resources) {
    const run = await account.sync(key);
    story.log(`a fresh connection, ${key}: ${outcomeOf(run)}`);
    const isRead = !isRefusal(run) && (run.status === 'succeeded' || run.statsJson.quarantined > 0);
    if (!isRead) return `a fresh connection cannot read ${key}: ${outcomeOf(run)}`;
  }
  return account;
}

const openRows = (rows: readonly QuarantineRow[], resource: string) =>
  rows.filter(({ resolvedAt, resourceKey }) => resolvedAt === null && resourceKey === resource);

async function compareAll(story: Story, other: Account, fresh: StoryDestination): Promise<readonly string[]> {
  const [own, theirs] = await Promise.all([story.account.quarantine(), other.quarantine()]);
  const differences: string[] = [];
  const parents = new Set<string>();
  for (const resource of story.genes.resources) {
    const compared = await compareTables({
      story,
      resource,
      fresh,
      quarantined: openRows(own, resource.key),
      freshQuarantined: openRows(theirs, resource.key),
      updatesQuarantined: resource.key === 'items' ? openRows(own, 'prices') : [],
      parents,
    });
    // An invalid parent is one all the same.
    const known = [...compared.ids, ...openRows(theirs, resource.key).map(({ externalId }) => externalId)];
    if (resource.key === 'parents') for (const id of known) parents.add(id);
    differences.push(...compared.differences);
  }
  return differences;
}

/** One more run of each resource brings nothing. */
async function quietRuns({ account, genes, log }: Story): Promise<readonly string[]> {
  const loud: string[] = [];
  for (const resource of genes.resources) {
    const { key, cache, change, mode } = resource;
    if (cache === 'ttl') await sleep(1100);
    const run = await account.sync(key);
    log(`${key} once more: ${outcomeOf(run)}`);
    if (isRefusal(run) || statusOf(run, resource) !== 'succeeded') {
      loud.push(`the run of ${key} after rest is no success: ${outcomeOf(run)}`);
      continue;
    }
    const { recordsOut, deleted } = run.statsJson;
    const isRepeated = change.mode === 'none' || mode === 'replace';
    if (!isRepeated && recordsOut + deleted > 0) loud.push(`the run of ${key} after rest delivers: ${outcomeOf(run)}`);
  }
  return loud;
}

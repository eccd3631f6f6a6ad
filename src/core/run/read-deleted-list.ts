import { AppError } from '../errors.ts';
import { possibleIds } from '../model/external-id.ts';
import type { PartitionEntry } from '../model/receipt.ts';
import type { PartitionPosition, RunPosition } from '../model/run-position.ts';
import type { Validators } from '../model/validators.ts';
import { readPages } from '../source/read/read-pages.ts';
import { createEvaluateEach } from '../source/request/evaluate-each.ts';
import { openResponseCache } from '../source/request/open-response-cache.ts';
import type { Source } from '../source/source.ts';
import type { Resource } from '../spec/schema/spec-schema.ts';
import type { Partition, RunReading, RunReadOptions, Stage } from './reading.ts';
import { recentListCache } from './recent-list-cache.ts';
import { stagePage, tombstoneOf } from './run-page.ts';

type DeletedList = Extract<Resource['deletes'], { readonly mode: 'endpoint' }>;

interface ListRead {
  readonly position: PartitionPosition;
  readonly partition: Partition;
  readonly next: RunPosition | null;
  /** Says that the partition is read to its end; called once everything before is recorded. */
  readonly completion: () => Promise<PartitionEntry>;
}

/** Tombstones for the records that the API lists as deleted, as far as they are known and not deleted yet. */
export async function* readDeletedList(
  run: RunReading,
  { position, partition, next, completion }: ListRead,
  options: RunReadOptions,
): Stage {
  const { resource } = run;
  if (resource.deletes.mode !== 'endpoint') return next;
  const { deletes } = resource;
  // The records just read must be known, or a record created and deleted in between would stay.
  await options.delivered();
  const ofPartition = { ...run.source, each: partition.each };
  const recentList = recentListCache(ofPartition, deletes, run.lookupStore);
  const source = {
    ...ofPartition,
    ...notIncremental,
    resource: listResource(run.source.resource, deletes),
    validators: (await recentList?.find()) ?? null,
    responses: recentList ? null : openResponseCache(ofPartition, deletes.request, run.lookupStore),
  };
  let validators: Validators | null = null;
  let isRefused = false;
  const pages = readPages(source, { ...options, position: position.read });
  for await (const page of pages) {
    const listed = await idsOf(page.records, { key: deletes.key, source: ofPartition });
    const live = listed.length === 0 ? [] : await run.store.findLive(listed);
    const positionAfter = page.positionAfter === null ? next : { ...position, read: page.positionAfter };
    const tombstones = live.map((record) => tombstoneOf(record, deletes.effect));
    const incomplete = page.skipped !== null;
    const isComplete = page.positionAfter === null && !incomplete;
    const place = { positionAfter, partition: isComplete ? await completion() : null };
    yield stagePage('listed', { tombstones, ...place, requestKey: page.requestKey, incomplete });
    // Whatever reads such a record next must find it deleted.
    if (tombstones.length > 0) {
      await options.delivered();
      // The destination refused their deletion: an unchanged list must not hide them from the next run.
      isRefused ||= (await run.store.findLive(live.map(({ externalId }) => externalId))).length > 0;
    }
    validators ??= page.validators;
    if (page.positionAfter !== null) continue;
    if (validators && !incomplete && !isRefused) await recentList?.note(validators);
    return next;
  }
  return undefined;
}

const notIncremental = { watermark: null, backfill: null } as const;

function listResource(resource: Source['resource'], deletes: DeletedList): Source['resource'] {
  const { decoder, bigNumbers, recordsMissing } = resource.response;
  const { key, errors } = resource;
  const { request, records, pagination, stopWhen } = deletes;
  return {
    key,
    errors,
    request,
    response: { decoder, bigNumbers, recordsMissing, records, addFields: {} },
    pagination: stopWhen === undefined ? pagination : { ...pagination, stopWhen },
  };
}

/** The ids that records may have whose keys are listed; a list of values stands for a key of several fields. */
async function idsOf(
  items: readonly unknown[],
  { key, source }: { readonly key: string; readonly source: Omit<Source, 'watermark'> },
): Promise<readonly string[]> {
  const results = await createEvaluateEach(source)(key, items);
  const ids = results.flatMap((result) => {
    if (result.ok) return idsOfKey(result.value);
    throw new AppError('spec_invalid', `deletes.key fails on an item: ${result.message}`);
  });
  return [...new Set(ids)];
}

function idsOfKey(key: unknown): readonly string[] {
  const ids = possibleIds(key);
  if (ids) return ids;
  throw new AppError('source_rejected', 'deletes.key selects no value in an item of the list. Correct it in the spec.');
}

/** One resource of a connection, read by one run after the other, whose state and rows stay in memory. */

import type { Evaluator } from '../../../src/core/expressions/evaluation.ts';
import { createMemoryDimensions } from '../../../src/core/memory-run/memory-dimensions.ts';
import { createMemoryLookups } from '../../../src/core/memory-run/memory-lookups.ts';
import { runInMemory } from '../../../src/core/memory-run/memory-run.ts';
import type { Receipt } from '../../../src/core/model/receipt.ts';
import { assembleBatch } from '../../../src/core/pipeline/batch.ts';
import { createKnownRecords } from '../../../src/core/pipeline/known-records.ts';
import { createEngine } from '../../../src/core/run/engine.ts';
import { neverRead, type Parent, type RunStore, type StoredPartition } from '../../../src/core/run/run-store.ts';
import { findResource } from '../../../src/core/spec/connection/find-resource.ts';
import type { ConnectorSpec, Resource } from '../../../src/core/spec/schema/spec-schema.ts';
import type { MockApi } from '../../../src/core/spec-tests/mock-api.ts';
import { openTestSource } from '../../../src/core/spec-tests/open-test-source.ts';
import { prepareTest } from '../../../src/core/spec-tests/prepare-test.ts';
import { createLaneRecords } from './lane-records.ts';
import type { Example } from './made-records.ts';

/** What a run has come to. */
export interface LaneRun {
  readonly status: 'succeeded' | 'partial' | 'failed';
  readonly error: string | null;
  /** Rows and deletions. */
  readonly delivered: number;
  readonly notes: readonly string[];
}

/** A resource of a connection. */
export interface Lane {
  /** Runs it at a time, against an API. */
  run(api: MockApi, now: Date): Promise<LaneRun>;
  /** The rows at the destination, by external id. */
  readonly rows: ReadonlyMap<string, Readonly<Record<string, unknown>>>;
}

const runId = 'run_moving';

/** A lane that was never read, of a connection with the params of the example's test. */
export function openLane(spec: ConnectorSpec, example: Example, evaluator: Evaluator): Lane {
  const { resource, test } = example;
  const prepared = prepareTest(spec, test, resource);
  if (!prepared.ok) throw new Error(JSON.stringify(prepared.mismatches));
  const { params, secrets } = prepared;
  const records = createLaneRecords();
  const partitions = new Map<string, StoredPartition>();
  const rows = new Map<string, Readonly<Record<string, unknown>>>();

  const take = ({ partitions: entries, proofs }: Receipt): void => {
    const change = (partition: string, part: Partial<StoredPartition>): void =>
      void partitions.set(partition, { ...(partitions.get(partition) ?? neverRead), ...part });
    for (const { partition, watermark, completed, firstStart } of entries)
      change(partition, { watermark, ...(firstStart !== undefined && { firstStart }), ...completed });
    for (const { partition, completed } of proofs) change(partition, { ...completed });
  };

  return {
    rows,
    async run(api, now) {
      records.begin();
      const context = { spec, params, secrets, now, evaluator, api, signal: AbortSignal.timeout(60_000) };
      const redact = (text: string) => text;
      const openSource = (opened: Resource) => openTestSource(context, opened);
      const parentsOf = async (key: string): Promise<readonly Parent[]> => {
        const lookups = createMemoryLookups();
        const whole = { runId, redact, openSource, lookups, recordsMax: Number.POSITIVE_INFINITY };
        const read: Parent[] = [];
        await runInMemory(
          { ...context, ...whole, wait: async () => undefined },
          {
            resource: findResource(spec, key),
            start: { watermark: null, known: [] },
            onPage: (_page, ready) => {
              const { records: found } = assembleBatch([ready], {
                ...{ resource: findResource(spec, key), runId, batchNo: ready.pageNo, redact, seal: redact },
              }).receiptOf([]);
              read.push(...found.map(({ externalId, fields }) => ({ externalId, fields })));
            },
          },
        );
        return read;
      };
      let isClean = true;
      let delivered = 0;
      const notes = new Set<string>();
      let recordsIn = 0;
      const store: RunStore = {
        requeued: async () => [],
        ...createMemoryDimensions(10_000),
        changedPartitions: async (all) => new Set(all.map(({ key }) => key)),
        listingInstant: async () => now.toISOString(),
        parents: async (key, { after, limit }) =>
          (await parentsOf(key)).filter(({ externalId }) => after === null || externalId > after).slice(0, limit),
        isComplete: async () => true,
        partition: async (key) => partitions.get(key) ?? neverRead,
        ...records.store,
        readSoFar: async () => ({ recordsIn, recordsOut: delivered }),
        countReplaced: async () => 0,
        startsOver: async () => false,
        noteReadsBefore: async () => undefined,
        isClean: async () => isClean,
      };
      const known = createKnownRecords(async (externalIds) => records.load(externalIds));
      const engine = createEngine({
        ...{ runId, startedAt: now, spec, resource, params, redeliver: false, force: false, openSource, store },
        ...{ lookupStore: createMemoryLookups(), known, evaluator, redact, seal: redact },
      });
      const outcome = (error: string | null): LaneRun => ({
        status: error !== null ? 'failed' : isClean ? 'succeeded' : 'partial',
        error,
        delivered,
        notes: [...notes],
      });
      try {
        await engine.read({
          position: null,
          pageNo: 0,
          sink: {
            async add(page) {
              const batch = assembleBatch([page], { resource, runId, batchNo: page.pageNo, redact, seal: redact });
              const receipt = batch.receiptOf([]);
              for (const { externalId, data } of batch.rows) rows.set(externalId, data);
              for (const externalId of receipt.deleted) rows.delete(externalId);
              delivered += batch.rows.length + receipt.deleted.length;
              recordsIn += receipt.pages.reduce((sum, one) => sum + one.recordsIn, 0);
              isClean &&= !receipt.incomplete && receipt.quarantine.length === 0;
              for (const [note, count] of Object.entries(receipt.notes)) if (count) notes.add(note);
              records.record(receipt);
              take(receipt);
              known.commit(receipt);
            },
            drained: async () => undefined,
          },
          signal: context.signal,
          lookAhead: 0,
          pagesAtOnce: 1,
          enough: () => false,
          wait: async () => undefined,
          onRead: () => true,
        });
      } catch (error) {
        return outcome(error instanceof Error ? error.message : String(error));
      }
      return outcome(null);
    },
  };
}

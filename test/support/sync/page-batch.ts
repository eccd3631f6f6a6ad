import type { Deliverable, Tombstone } from '../../../src/core/model/batch.ts';
import { assembleBatch, type PageBatch } from '../../../src/core/pipeline/batch.ts';
import { readyPage } from '../../../src/core/pipeline/ready-page-fixture.ts';
import type { Target } from '../../../src/core/spec/schema/destination-schema.ts';

/** A batch of the engine, whose receipt can be made by another process. */
export function pageBatch(
  rows: readonly Deliverable[],
  target: Partial<Pick<Target, 'mode' | 'onTypeConflict'>> & {
    readonly batchNo?: number;
    /** Of records that were missing. */
    readonly tombstones?: readonly Tombstone[];
  } = {},
): PageBatch {
  const { batchNo = 1, mode = 'upsert', onTypeConflict = 'quarantine', tombstones = [] } = target;
  const page = readyPage({
    pageNo: batchNo,
    recordsIn: rows.length,
    outcomes: [
      ...rows.map((row) => {
        const { externalId } = row;
        const entry = { externalId, hash: 'aGFzaA', cursor: null, status: 'delivered', fields: null } as const;
        return { kind: 'deliver', row, entry, raw: { raw: externalId } } as const;
      }),
      ...tombstones.map((tombstone) => ({ kind: 'delete', tombstone, flagged: false }) as const),
    ],
  });
  const resource = { key: 'items', onInvalid: 'quarantine' as const, target: { mode, onTypeConflict } };
  return assembleBatch([page], { resource, runId: 'run_1', batchNo, ...masking });
}

const masking = { redact: (text: string) => text, seal: (text: string) => text };

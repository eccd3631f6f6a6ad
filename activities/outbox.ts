import { hash } from 'node:crypto';
import {
  advancePending,
  countFailure,
  doubtPart,
  endPending,
  type OpenedPendingRow,
  type OutboxOwner,
  type OutboxPartRow,
  openOutbox,
  putPending,
  type Standing,
  type StoredTarget,
} from '../db/queries/runs/batches/outbox.ts';
import type { OrgScope } from '../db/scope.ts';
import type { SealedEchoes } from '../src/connect/sealed-echoes.ts';
import type { Outbox, OutboxPart, PendingBatch } from '../src/core/destinations/webhook/outbox.ts';
import { takenOver } from '../src/core/errors.ts';
import { restoreBatch } from '../src/core/pipeline/batch.ts';
import type { Deps } from '../src/deps.ts';

interface OutboxOptions {
  readonly owner: OutboxOwner;
  readonly redact: (text: string) => string;
  /** Seals the destination's address, which may hold a secret, and refused records that repeat one. */
  readonly echoes: Pick<SealedEchoes, 'seal' | 'says'>;
}

export function createOutbox(
  { db }: Pick<Deps, 'db'>,
  scope: OrgScope,
  { owner, redact, echoes }: OutboxOptions,
): Outbox {
  const pendingOf = ({ runId, batchNo, draft, rejected, parts, isOfBefore }: OpenedPendingRow): PendingBatch => ({
    runId,
    batchNo,
    isOfBefore,
    parts: parts.map(partOf),
    rejected: rejected.split('\n').flatMap((line) => JSON.parse(line)),
    isCarried: runId !== owner.runId,
    receipt: (all) => restoreBatch(draft, { redact, seal: echoes.seal }).receipt(all),
  });
  return {
    async open({ target, formerTarget, targetBefore, generation }) {
      const isFormer = ({ address, target: hashed }: StoredTarget): boolean =>
        address === null
          ? hashed !== null && [formerTarget, targetBefore].some((text) => formerHashOf(text).equals(hashed))
          : echoes.says(address, formerTarget);
      const standing = (stored: StoredTarget): Standing => {
        if (stored.address !== null && echoes.says(stored.address, target)) return 'same';
        return isFormer(stored) ? 'former' : 'other';
      };
      const at = { address: echoes.seal(target), standing };
      const { pending, ...known } = held(await openOutbox(db, scope, { owner, target: at, generation }));
      return { ...known, pending: pending && pendingOf(pending) };
    },
    async prepare(batch, { parts, rejected }, sequence) {
      const { runId, batchNo } = batch;
      const texts = { draft: await batch.draft(), rejected: JSON.stringify(rejected) };
      const pending = { runId, batchNo, ...texts, parts: parts.map(rowOf) };
      held(await putPending(db, scope, { owner, pending, sequence }));
    },
    async advance({ part, refused, parts, bytesMax }) {
      const line = refused.length > 0 ? JSON.stringify(refused) : null;
      held(await advancePending(db, scope, { owner, part, refused: line, parts: parts.map(rowOf), bytesMax }));
    },
    async doubt(part) {
      held(await doubtPart(db, scope, { owner, part }));
    },
    failed: async () => held(await countFailure(db, scope, owner)),
    async complete(receipt) {
      held(await endPending(db, scope, { owner, receipt }));
    },
    async discard() {
      held(await endPending(db, scope, { owner, receipt: null }));
    },
  };
}

/** The hash that an earlier version stored for the target of a lane. */
const formerHashOf = (target: string): Buffer => Buffer.from(hash('sha256', target, 'hex'), 'hex');

/** Throws `fenced` if the attempt no longer holds the lane. */
function held<Result>(result: Result | null): Result {
  if (result === null) throw takenOver();
  return result;
}

const rowOf = ({ body, indexes, ...part }: OutboxPart): OutboxPartRow => ({
  ...part,
  body: Buffer.from(body, 'utf8'),
  indexes: [...indexes],
});

const partOf = ({ body, ...part }: OutboxPartRow): OutboxPart => ({ ...part, body: body.toString('utf8') });

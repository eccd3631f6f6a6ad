import type { SealedEchoes } from '../src/connect/sealed-echoes.ts';
import type { JsonObject } from '../src/core/json/json-object.ts';
import type { PageOutcome, RecordOutcome } from '../src/core/model/page-outcome.ts';
import type { ListedDeletions, PartitionEntry, RecordEntry } from '../src/core/model/receipt.ts';
import type { RunPosition } from '../src/core/model/run-position.ts';
import type { ReadyPage } from '../src/core/pipeline/batch.ts';
import { mapWithPauses } from '../src/core/work/map-with-pauses.ts';

type Hiding = Pick<SealedEchoes, 'hide' | 'hideNew' | 'tells'>;

/** Seals the parts of a page that a later run reads back, if they repeat a secret; partitions keep their keys. */
export async function sealedPage(page: ReadyPage, echoes: Hiding): Promise<ReadyPage> {
  const { positionAfter, partition, proof, listed } = page;
  return {
    ...page,
    // A retried record may repeat a secret that has been replaced since.
    outcomes: await sealedOutcomes(
      page.outcomes,
      page.retried.length > 0 ? { ...echoes, hideNew: echoes.hide } : echoes,
    ),
    positionAfter: positionAfter && sealedPosition(positionAfter, echoes),
    partition: partition && {
      ...partition,
      watermark: echoes.hide(partition.watermark),
      ...(partition.firstStart !== undefined && { firstStart: echoes.hide(partition.firstStart) }),
      completed: partition.completed && sealedEnd(partition.completed, echoes),
    },
    proof: proof && { ...proof, completed: proof.completed && sealedEnd(proof.completed, echoes) },
    ...(listed && { listed: sealedDeletions(listed, echoes) }),
  };
}

/** Hides a position, except for its progress, which queries need. */
export const sealedPosition = (position: RunPosition, echoes: Pick<SealedEchoes, 'hide'>): RunPosition =>
  echoes.hide(position, factsOf(position));

function factsOf(position: RunPosition): JsonObject {
  const read = 'read' in position ? position.read : null;
  const { stage } = position;
  return { stage, ...(read && { read: { pagesRead: read.pagesRead, ...(read.job && { job: {} }) } }) };
}

type End = NonNullable<PartitionEntry['completed']> & { readonly watermark?: string | null };

const sealedEnd = <Sealed extends End>(end: Sealed, echoes: Hiding): Sealed => ({
  ...end,
  validators: echoes.hide(end.validators),
  ...(end.deletionsTo !== undefined && { deletionsTo: echoes.hide(end.deletionsTo) }),
  ...(end.watermark !== undefined && { watermark: echoes.hide(end.watermark) }),
});

function sealedDeletions(listed: ListedDeletions, echoes: Hiding): ListedDeletions {
  const { named } = listed;
  if (!echoes.tells(named.map(({ deletedAt }) => deletedAt ?? '').join('\n'))) return listed;
  return { ...listed, named: named.map((one) => ({ ...one, deletedAt: echoes.hideNew(one.deletedAt) })) };
}

/** Usually the records hold nothing that could repeat a secret, or nothing that does: skips the work per record. */
async function sealedOutcomes(outcomes: PageOutcome['outcomes'], echoes: Hiding): Promise<PageOutcome['outcomes']> {
  const cursors = outcomes.flatMap((outcome) => cursorOf(outcome) ?? []);
  const hidesCursors = cursors.length > 0 && echoes.tells(cursors.join('\n'));
  if (!hidesCursors && !outcomes.some(hasFields)) return outcomes;
  return await mapWithPauses(outcomes, sealedOutcome, { echoes, hidesCursors });
}

const entryOf = (outcome: RecordOutcome): RecordEntry | null => {
  if (outcome.kind === 'delete') return outcome.record?.entry ?? null;
  return outcome.kind === 'deliver' || outcome.kind === 'quarantine' ? outcome.entry : null;
};
const cursorOf = (outcome: RecordOutcome): string | null =>
  outcome.kind === 'flag' ? outcome.record.cursor : (entryOf(outcome)?.cursor ?? null);
const hasFields = (outcome: RecordOutcome): boolean => (entryOf(outcome)?.fields ?? null) !== null;

function sealedOutcome(
  outcome: RecordOutcome,
  { echoes, hidesCursors }: { readonly echoes: Hiding; readonly hidesCursors: boolean },
): RecordOutcome {
  const sealedCursor = (cursor: string | null) => (hidesCursors ? echoes.hideNew(cursor) : cursor);
  const sealed = (entry: RecordEntry | null): RecordEntry | null =>
    entry && { ...entry, cursor: sealedCursor(entry.cursor), fields: echoes.hideNew(entry.fields) };
  switch (outcome.kind) {
    case 'deliver':
    case 'quarantine':
      return { ...outcome, entry: sealed(outcome.entry) };
    case 'flag':
      return { ...outcome, record: { ...outcome.record, cursor: sealedCursor(outcome.record.cursor) } };
    case 'delete':
      return outcome.record
        ? { ...outcome, record: { ...outcome.record, entry: sealed(outcome.record.entry) } }
        : outcome;
    case 'leave':
    case 'wait':
      return outcome;
  }
}

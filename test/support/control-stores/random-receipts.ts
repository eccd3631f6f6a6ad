import type {
  ListedDeletions,
  PageEntry,
  PartitionEntry,
  PartitionProof,
  QuarantineEntry,
  Receipt,
  RecordEntry,
} from '../../../src/core/model/receipt.ts';
import { listBegin, type RunPosition } from '../../../src/core/model/run-position.ts';
import type { ListedScan, Scan } from '../../../src/core/model/scan.ts';
import type { Dice } from './dice.ts';

const totals = { count: 2, skipped: 0, gaps: [] };

/** A position of some stage; null: nothing is left. */
const randomPosition = (dice: Dice): RunPosition | null =>
  dice.pick([
    null,
    { stage: 'retry', after: 'quar_7' },
    { stage: 'sweep', totals },
    { stage: 'switch', gaps: dice.pick([[], ['list_moved']] as const) },
    listPosition(dice.below(3)),
  ] as const);

/** A position in the list of partitions. */
export const listPosition = (dimension: number): RunPosition => ({ ...listBegin, dimension });

/** Ids of records: few, so that batches meet the same ones. */
export const recordIds = ['r1', 'r2', 'r3', 'r4', 'r5', 'r6'] as const;

interface ReceiptFacts {
  readonly runId: string;
  readonly batchNo: number;
  /** Of its first page. */
  readonly pageNo: number;
  /** Of quarantine rows of the org. */
  readonly quarantineIds: readonly string[];
  readonly newQuarantineId: () => string;
}

/** A receipt of which every part may be there or not; some can be recorded by no store. */
export function randomReceipt(dice: Dice, facts: ReceiptFacts): Receipt {
  const { runId, batchNo, quarantineIds } = facts;
  const isPlain = dice.chance(0.5);
  const rare = <Item>(make: () => Item): Item[] => (!isPlain && dice.chance(0.4) ? [make()] : []);
  const position = randomPosition(dice);
  return {
    runId,
    batchNo,
    pages: dice.list(2, (index) => page(dice, facts.pageNo + index)),
    records: dice.some(recordIds, dice.chance(0.02) ? 'with repeats' : 'once').map((id) => record(dice, id)),
    allNew: dice.chance(0.3),
    deleted: rare(() => dice.pick(recordIds)),
    deliveredBefore: rare(() => dice.pick(recordIds)),
    closes: dice.chance(0.7) ? null : dice.some(recordIds, 'once'),
    closesVersions: rare(() => ({ externalId: dice.pick(recordIds), version: dice.pick(['v1', 'v2']) })),
    seen: rare(() => ({ partition: dice.pick(['', 'p1', 'p2']), externalIds: dice.some(recordIds, 'once') })),
    ...(!isPlain &&
      dice.chance(0.3) && {
        left: [{ partition: dice.pick(['p1', 'p2']), externalIds: dice.some(recordIds, 'once') }],
      }),
    quarantine: [...rare(() => kept(dice, facts)), ...rare(() => kept(dice, facts))],
    ...(!isPlain && dice.chance(0.2) && { again: [tried(dice, facts)] }),
    retried: quarantineIds.length > 0 ? rare(() => dice.pick(quarantineIds)) : [],
    partitions: dice
      .some(dice.pick([[''], [''], ['p1', 'p2']]), dice.chance(0.02) ? 'with repeats' : 'once')
      .map((key) => partition(dice, key)),
    proofs: rare(() => proof(dice)),
    ...(!isPlain && dice.chance(0.5) && { listed: [namedOf(dice)] }),
    ...(!isPlain && dice.chance(0.3) && { listedEnd: { ...listedScan(dice), isHeld: dice.chance(0.3) } }),
    scan: isPlain || dice.chance(0.6) ? null : scan(dice),
    incomplete: dice.chance(0.1),
    notes: dice.pick([{}, {}, { stale: 2 }, { stale: 1, list_moved: 1 }]),
    position,
    failure: position === null && dice.chance(0.2) ? 'a record was refused' : null,
    ...(!isPlain && dice.chance(0.4) && { flagged: flagged(dice) }),
  };
}

const flagged = (dice: Dice): NonNullable<Receipt['flagged']> =>
  dice.some(recordIds, 'once').map((externalId) => ({ externalId, cursor: dice.pick([null, '5', '9']) }));

const page = (dice: Dice, pageNo: number): PageEntry => ({
  pageNo,
  requestKey: 'k',
  recordsIn: dice.below(5),
  recordsOut: dice.below(5),
  skipped: dice.below(3),
  quarantined: dice.chance(0.2) ? 1 : 0,
  invalid: dice.below(2),
  deleted: dice.below(2),
});

const record = (dice: Dice, externalId: string): RecordEntry => ({
  externalId,
  hash: dice.pick(['aGFzaA', 'b3RoZXI', '-_-_']),
  cursor: dice.pick([null, '4', '11']),
  status: dice.chance(0.8) ? 'delivered' : 'quarantined',
  fields: dice.chance(0.3) ? { name: 'n', deep: { list: [1, null] } } : null,
});

const kept = (dice: Dice, { quarantineIds, newQuarantineId }: ReceiptFacts): QuarantineEntry => ({
  id: quarantineIds.length > 0 && dice.chance(0.2) ? dice.pick(quarantineIds) : newQuarantineId(),
  externalId: dice.pick(recordIds),
  rawJson: dice.pick(['{"v":1}', 'no JSON', '[2]']),
  each: dice.pick([{}, { project: { key: 'a' } }]),
  ...dice.pick([{}, { sealed: 'sealed:k1.AAAA.BBBB.CCCC' }]),
  version: dice.pick(['', '', 'v1', 'v2']),
  isAgain: quarantineIds.length > 0 && dice.chance(0.3),
  errors: dice.pick([
    [],
    [{ path: 'a', message: 'm', keyword: 'type' }],
    [{ path: '', message: 'm', keyword: 'too_large' }],
  ]),
});

function tried(dice: Dice, facts: ReceiptFacts): QuarantineEntry {
  const entry = kept(dice, facts);
  return { ...entry, id: entry.isAgain ? dice.pick(facts.quarantineIds) : facts.newQuarantineId() };
}

const partition = (dice: Dice, key: string): PartitionEntry => ({
  partition: key,
  watermark: dice.pick([null, '3', '20', '-5', '007', 'm', 'é']),
  completed: dice.pick([
    null,
    { listedAt: null, validators: null },
    { listedAt: '2026-01-01T00:00:00.000Z', validators: { etag: '"e"', lastModified: null } as never },
    { listedAt: null, validators: null, readAt: '2026-01-02T00:00:00.000Z', deletionsTo: '3' },
  ]),
  ...dice.pick([{}, {}, { firstStart: '1' }, { shape: 'a.b.c' }]),
});

const proof = (dice: Dice): PartitionProof => ({
  partition: dice.pick(['', 'p1', 'p2']),
  proof: dice.pick(['whole', 'whole', 'gap', 'unchanged']),
  completed: dice.pick([
    null,
    { listedAt: '2026-01-02T00:00:00.000Z', validators: null },
    { listedAt: null, validators: null, readAt: '2026-01-03T00:00:00.000Z', watermark: '30' },
  ]),
});

const namedOf = (dice: Dice): ListedDeletions => ({
  partition: dice.pick(['', 'p1', 'p1', 'p2']),
  named: dice.some(recordIds, 'once').map((externalId) => ({
    externalId,
    state: dice.pick(['before', 'pending', 'due', 'due', 'due', 'done'] as const),
    deletedAt: dice.pick([null, '4']),
  })),
  end: dice.pick([null, null, 'all', 'known'] as const),
});

/** How a run decides which deletions count that lists have named. */
export const listedScan = (dice: Dice): ListedScan => ({
  coversAll: dice.chance(0.3),
  hasGaps: dice.chance(0.3),
});

/** How a run compares. */
export const scan = (dice: Dice): Scan => ({
  isPartitioned: dice.chance(0.8),
  coversAll: dice.chance(0.5),
  listsAll: dice.chance(0.5),
  confirm: dice.pick([1, 1, 2]),
  hasGaps: dice.chance(0.3),
  ...(dice.chance(0.2) && { endsOnly: true }),
});

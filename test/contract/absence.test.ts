import { expect, test } from 'vitest';
import type { PartitionProof, Receipt, RecordEntry } from '../../src/core/model/receipt.ts';
import type { Scan } from '../../src/core/model/scan.ts';
import { controlStores, openCase } from '../support/control-stores/case.ts';
import type { ControlStore } from '../support/control-stores/control-store.ts';
import { type Dice, diceOf } from '../support/control-stores/dice.ts';
import { receiptOf } from '../support/service/receipts.ts';

const ids = ['r1', 'r2', 'r3', 'r4', 'r5', 'r6'] as const;
const partitions = ['a', 'b', 'c'] as const;

type Lists = Map<string, ReadonlySet<string>>;

/** What a run reads of a partition. */
interface Part {
  readonly partition: string;
  readonly seen: readonly string[];
  readonly proof: PartitionProof['proof'];
}

/** An API with lists that change, and what is known of it. */
async function openStory(store: ControlStore, dice: Dice) {
  const { queries, db, scope, started, record, end } = await openCase(store);
  const confirm = dice.pick([1, 1, 2, 3]);
  const ofResource = dice.chance(0.5);
  const lists: Lists = new Map();
  /** Where the runs have seen a record, unless a whole read has lacked it since. */
  const shown = new Map<string, Set<string>>(ids.map((id) => [id, new Set()]));
  const live = new Set<string>();
  let laneId = 0;
  const change = (): void => {
    const partition = dice.pick(partitions);
    if (ofResource && dice.chance(0.1)) lists.delete(partition);
    else lists.set(partition, new Set(dice.some(ids, 'once')));
  };
  const partOf = (partition: string): Part => {
    const listed = [...(lists.get(partition) ?? [])];
    return dice.chance(0.7)
      ? { partition, seen: listed, proof: 'whole' }
      : { partition, seen: listed.filter(() => dice.chance(0.5)), proof: 'gap' };
  };
  const run = async (parts: readonly Part[], coversAll: boolean): Promise<readonly string[]> => {
    const { id, attempt } = await started();
    laneId = attempt.laneId;
    let batchNo = 0;
    const put = async (receipt: Partial<Receipt>) => {
      batchNo += 1;
      const pages: Receipt['pages'] = [];
      await record(attempt, receiptOf(id, batchNo, { records: [], partitions: [], pages, position: null, ...receipt }));
    };
    for (const { partition, seen, proof } of parts) {
      const records = seen.filter((externalId) => !live.has(externalId)).map(entryOf);
      const proofs = [{ partition, proof, completed: null }];
      await put({ records, seen: [{ partition, externalIds: seen }], proofs });
      for (const externalId of seen) {
        live.add(externalId);
        shown.get(externalId)?.add(partition);
      }
    }
    const scan: Scan = { isPartitioned: true, coversAll, listsAll: ofResource, confirm, hasGaps: false };
    const gone = await queries.findMissing(db, scope, { ...scan, laneId, seq: attempt.seq, after: null, limit: 99 });
    const deleted = gone.map(({ externalId }) => externalId);
    for (const externalId of deleted) {
      const places = [...(shown.get(externalId) ?? [])];
      expect(places.filter((place) => lists.get(place)?.has(externalId))).toEqual([]);
      live.delete(externalId);
      shown.get(externalId)?.clear();
    }
    await put({ deleted, scan });
    for (const { partition, seen, proof } of parts)
      if (proof === 'whole') for (const each of ids) if (!seen.includes(each)) shown.get(each)?.delete(partition);
    await end(id);
    return deleted;
  };
  const readSome = () => {
    const read = ofResource ? [...lists.keys()] : dice.some(partitions, 'once');
    return run(read.map(partOf), ofResource && dice.chance(0.8));
  };
  const readAll = () =>
    run(
      [...lists].map(([partition, listed]) => ({ partition, seen: [...listed], proof: 'whole' })),
      ofResource,
    );
  return { confirm, lists, live, change, readSome, readAll };
}

const entryOf = (externalId: string): RecordEntry => ({
  externalId,
  hash: 'aGFzaA',
  cursor: null,
  status: 'delivered',
  fields: null,
});

test.each(controlStores)(
  'a record is deleted when no partition lists it that ever did, and only then ($name)',
  {
    timeout: 120_000,
  },
  async ({ name, open }) => {
    await using store = await open();
    for (let seed = 1; seed <= (name === 'memory' ? 300 : 25); seed += 1) {
      const dice = diceOf(seed);
      const { confirm, lists, live, change, readSome, readAll } = await openStory(store, dice);
      for (const partition of partitions) lists.set(partition, new Set(dice.some(ids, 'once')));
      await readAll();
      for (let step = 0; step < 8; step += 1) {
        change();
        await readSome();
      }
      for (let read = 0; read <= confirm; read += 1) await readAll();
      const listed = new Set([...lists.values()].flatMap((each) => [...each]));
      expect([...live].toSorted(), `seed ${seed}`).toEqual([...listed].toSorted());
    }
  },
);

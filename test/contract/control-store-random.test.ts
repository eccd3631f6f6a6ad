import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compareStores, type Sequence } from '../support/control-stores/compare-stores.ts';
import type { ControlStore } from '../support/control-stores/control-store.ts';
import { openMemoryStore } from '../support/control-stores/memory-store.ts';
import { openPostgresStore } from '../support/control-stores/postgres-store.ts';

let postgres: ControlStore;
let memory: ControlStore;
beforeAll(async () => {
  [postgres, memory] = [await openPostgresStore(), await openMemoryStore()];
});
afterAll(async () => {
  await postgres[Symbol.asyncDispose]();
});

/** It takes 20 s to 45 s on two cores that are busy with other tests, ms. */
const testMsMax = 180_000;
/** All are of one kind, and each outcome below comes more than five times among them. 200 took 9 s of CPU more. */
const sequences = Number(process.env['CONTROL_STORE_SEQUENCES'] ?? 160);
const length = 30;
/** As many as the pool of the database has connections. */
const atOnce = 4;

/** Outcomes of operations. */
const telling = [
  ...['running', 'waiting', 'canceled', 'succeeded', 'failed'].map((turn) => `beginRun ${turn}`),
  ...['recorded', 'stale', 'fenced', 'threw refused'].map((outcome) => `recordBatch ${outcome}`),
  ...['recorded', 'stale', 'fenced'].map((outcome) => `recordCarried ${outcome}`),
  ...['putPending true', 'advancePending true', 'endPending true', 'endPending threw refused'],
  'passOver passed',
  'passOver recorded',
  ...['takeLane threw fenced', 'endRun threw fenced'],
];

describe('the control store in memory', () => {
  it('returns and stores the same as PostgreSQL after every operation of random sequences', {
    timeout: testMsMax,
  }, async () => {
    const seeds = Array.from({ length: sequences }, (_, index) => index + 1);
    const results: Sequence[] = [];
    const work = async () => {
      for (let seed = seeds.shift(); seed !== undefined; seed = seeds.shift()) {
        const sequence = await compareStores([postgres, memory], { seed, length }, isDeepStrictEqual);
        results.push(sequence);
        if (sequence.difference) return;
      }
    };
    await Promise.all(Array.from({ length: atOnce }, work));
    const [different] = results.flatMap(({ difference }) => difference ?? []);
    expect(different?.second, `seed ${different?.seed}: ${different?.operations.join(', ')}`).toEqual(different?.first);
    expect(results).toHaveLength(sequences);
    const outcomes = results.flatMap((sequence) => sequence.outcomes);
    const count = (outcome: string) => outcomes.filter((one) => one === outcome).length;
    // Where none of these happens, equal stores say little.
    for (const outcome of telling) expect(count(outcome), outcome).toBeGreaterThan(5);
  });
});

import { describe, expect, it } from 'vitest';
import type { Partition, PartitionRange } from '../../db/queries/maintenance/partitions.ts';
import { planPartitions } from './plan-partitions.ts';

const dayMs = 86_400_000;
const day = (number: number): Date => new Date(Date.UTC(2026, 0, 1) + number * dayMs);
const named = (ranges: readonly PartitionRange[]): readonly Partition[] =>
  ranges.map((range, index) => ({ ...range, name: `p${index}` }));
const plan = (partitions: readonly PartitionRange[], now: Date) =>
  planPartitions(named(partitions), { now, keptDays: 91, before: new Date(now.getTime() - 91 * dayMs) });
const days = ({ from, to }: PartitionRange) => [from, to].map((at) => (at.getTime() - day(0).getTime()) / dayMs);

describe('the plan of partitions', () => {
  it('covers the time from a minute ahead to two partitions ahead', () => {
    const { add, drop } = plan([], day(0));
    expect(drop).toEqual([]);
    expect(add.map(days)).toEqual([
      [1 / 1440, 7],
      [7, 14],
    ]);
  });

  it('asks for nothing while enough is ahead, and then for the next one alone', () => {
    const { add } = plan([], day(0));
    expect(plan(add, day(0)).add).toEqual([]);
    expect(plan(add, day(1)).add.map(days)).toEqual([[14, 21]]);
    expect(plan([], day(1)).add.slice(1)).toEqual(plan(plan([], day(0)).add.slice(0, 1), day(1)).add);
  });

  it('drops a partition once its last id is too old, not before', () => {
    const all = [0, 7, 14].map((from) => ({ from: day(from), to: day(from + 7) }));
    expect(plan(all, new Date(day(98).getTime() - 1)).drop).toEqual([]);
    expect(plan(all, day(98)).drop.map(days)).toEqual([[0, 7]]);
  });

  it('leaves a gap alone, and fills the time ahead without overlap, when the clock jumps there and back', () => {
    const before = plan([], day(0)).add;
    const there = [...before, ...plan(before, day(100)).add];
    const back = [...there, ...plan(there, day(97)).add].toSorted((a, b) => a.from.getTime() - b.from.getTime());
    for (const [index, { to }] of back.entries()) {
      const next = back[index + 1];
      if (next) expect(next.from.getTime()).toBeGreaterThanOrEqual(to.getTime());
    }
    expect(plan(there, day(97)).add.map(days).at(-1)?.[1]).toBeCloseTo(100 + 1 / 1440, 9);
    expect(plan(back, day(97)).add).toEqual([]);
  });

  it('has a bounded number of partitions for any retention', () => {
    for (const keptDays of [1, 7, 30, 90, 3650]) {
      let partitions: readonly PartitionRange[] = [];
      for (let now = 0; now < 2 * keptDays; now += 1) {
        const before = new Date(day(now).getTime() - keptDays * dayMs);
        const { add, drop } = planPartitions(named(partitions), { now: day(now), keptDays, before });
        const dropped = new Set(drop.map(({ from }) => from.getTime()));
        partitions = [...partitions.filter(({ from }) => !dropped.has(from.getTime())), ...add];
        expect(partitions.length).toBeLessThanOrEqual(17);
      }
    }
  });
});

import { describe, expect, it } from 'vitest';
import { rowOf } from '../../../../test/support/sync/batches.ts';
import { countingTurns } from '../../work/turns-fixture.ts';
import { encodeRows } from './record-rows.ts';
import { nullable, scalarText } from './record-values.ts';

const options = { writers: [], refused: new Map(), isPartial: false, idIssue: () => null } as const;
const writerOf = (name: string) => ({ name, nullable: true, toCell: nullable(scalarText) });

describe('rows become lists', () => {
  it('and other work has its turns meanwhile, also where no row gives most columns', async () => {
    const rows = Array.from({ length: 50_000 }, (_, n) => rowOf(String(n), { a: n }));
    const writers = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map(writerOf);
    const whole = await countingTurns(() => encodeRows(rows, { ...options, writers }));
    expect(whole.turns).toBeGreaterThanOrEqual(3);
    const partial = await countingTurns(() => encodeRows(rows, { ...options, writers, isPartial: true }));
    expect(partial.encoded.writers.map(({ name }) => name)).toEqual(['a']);
    expect(partial.turns).toBeGreaterThanOrEqual(3);
  });
});

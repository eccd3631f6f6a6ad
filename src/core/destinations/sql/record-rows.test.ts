import { describe, expect, it } from 'vitest';
import { rowOf } from '../../../../test/support/sync/batches.ts';
import { countingSlices } from '../../work/turns-fixture.ts';
import { encodeRows } from './record-rows.ts';
import { nullable, scalarText } from './record-values.ts';

const options = { writers: [], refused: new Map(), isPartial: false, idIssue: () => null } as const;
const writerOf = (name: string) => ({ name, nullable: true, toCell: nullable(scalarText) });

describe('rows become lists', () => {
  it('and those with a refused field are left out, in little time for 20,000 rows with a field of their own', async () => {
    const rows = Array.from({ length: 20_000 }, (_, n) => rowOf(String(n), { [`field_${n}`]: n }));
    const refused = new Map(rows.slice(1).map(({ externalId }) => [`field_${externalId}`, 'is new']));
    const before = process.threadCpuUsage().user;
    const { encoded, rejected } = await encodeRows(rows, { ...options, refused });
    expect((process.threadCpuUsage().user - before) / 1000).toBeLessThan(1000);
    expect(encoded.indexes).toEqual([0]);
    expect(rejected).toHaveLength(19_999);
    expect(rejected[0]).toEqual({ index: 1, externalId: '1', message: 'The field "field_1" is new.' });
  });

  it('and a refused field that is null refuses no row', async () => {
    const refused = new Map([['added', 'is new']]);
    const { rejected } = await encodeRows([rowOf('1', { added: null }), rowOf('2')], { ...options, refused });
    expect(rejected).toEqual([]);
  });

  it('and other work has its turns meanwhile, also where no row gives most columns', async () => {
    const rows = Array.from({ length: 50_000 }, (_, n) => rowOf(String(n), { a: n }));
    const writers = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map(writerOf);
    const whole = await countingSlices(() => encodeRows(rows, { ...options, writers }));
    expect(whole.turns).toBeGreaterThanOrEqual(50);
    const partial = await countingSlices(() => encodeRows(rows, { ...options, writers, isPartial: true }));
    expect(partial.encoded.writers.map(({ name }) => name)).toEqual(['a']);
    expect(partial.turns).toBeGreaterThanOrEqual(58);
  });
});

import { describe, expect, test } from 'vitest';
import { createInvalidLimit } from './invalid-limit.ts';

const resource = (maxInvalidRatio: number) => ({
  key: 'things',
  validate: { schema: {}, coerce: false, maxInvalidRatio },
});
const nothing = { recordsIn: 0, invalid: 0 };
const page = (recordsIn: number, invalid: number) => ({ recordsIn, invalid, positionAfter: {} });
const last = (recordsIn: number, invalid: number) => ({ recordsIn, invalid, positionAfter: null });

describe('the limit', () => {
  test('holds off until 100 records were read', () => {
    const limit = createInvalidLimit(resource(0.1), nothing);
    expect(() => limit([page(50, 40), page(49, 40)])).not.toThrow();
    expect(() => limit([page(1, 0)])).toThrow(
      expect.objectContaining({
        code: 'record_invalid',
        message: expect.stringContaining('80 of 100 records of things'),
      }),
    );
  });

  test('checks the ratio at the end of every run, even of a short one', () => {
    expect(() => createInvalidLimit(resource(0.1), nothing)([last(3, 1)])).toThrow('1 of 3');
    expect(() => createInvalidLimit(resource(0.5), nothing)([last(3, 1)])).not.toThrow();
  });

  test('lets exactly the ratio pass', () => {
    const limit = createInvalidLimit(resource(0.1), nothing);
    expect(() => limit([page(100, 10)])).not.toThrow();
    expect(() => limit([page(1, 1)])).toThrow('11 of 101');
  });

  test('goes on from what earlier attempts have read', () => {
    expect(() => createInvalidLimit(resource(0.1), { recordsIn: 1000, invalid: 100 })([page(10, 1)])).not.toThrow();
    expect(() => createInvalidLimit(resource(0.1), { recordsIn: 1000, invalid: 100 })([page(10, 2)])).toThrow(
      '102 of 1010',
    );
  });

  test('says the same whether pages come together or one by one', () => {
    const pages = [page(100, 20), page(900, 0)];
    expect(() => createInvalidLimit(resource(0.1), nothing)(pages)).toThrow('20 of 100');
  });

  test('is off without a ratio', () => {
    expect(() => createInvalidLimit({ key: 'things' }, nothing)([page(100, 100), last(100, 100)])).not.toThrow();
  });
});

import { describe, expect, it } from 'vitest';
import { isWhole, withGaps } from './coverage.ts';

describe('the gaps of a read', () => {
  it('come together, each once', () => {
    expect(withGaps(['list_moved'], ['key_missing', 'list_moved', 'key_missing'])).toEqual([
      'list_moved',
      'key_missing',
    ]);
  });

  it('are understood in positions of an earlier version', () => {
    expect([withGaps(false, []), withGaps(true, ['list_moved'])]).toEqual([[], ['list_missing', 'list_moved']]);
    expect([isWhole(false), isWhole(true), isWhole([]), isWhole(['page_short'])]).toEqual([true, false, true, false]);
  });
});

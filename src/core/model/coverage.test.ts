import { describe, expect, it } from 'vitest';
import { gapsOf, isWhole, withGaps } from './coverage.ts';

describe('the gaps of a read', () => {
  it('come together, each once', () => {
    expect(withGaps(['list_moved'], ['key_missing', 'list_moved', 'key_missing'])).toEqual([
      'list_moved',
      'key_missing',
    ]);
  });

  it('are the reasons why it is not whole', () => {
    expect([isWhole([]), isWhole(['page_short'])]).toEqual([true, false]);
  });

  it('are understood in positions of an earlier version', () => {
    expect([false, true, undefined].map(gapsOf)).toEqual([[], ['list_missing'], ['list_missing']]);
    expect(gapsOf(['list_moved'])).toEqual(['list_moved']);
  });
});

import { expect, it } from 'vitest';
import { createListsAtOnce } from './lists-at-once.ts';

it('sends four long lists to an org at once, and as many to another; one that has ended makes room once', () => {
  const lists = createListsAtOnce();
  const ends = Array.from({ length: 4 }, () => lists.begin('a'));
  const refused = expect.objectContaining({ status: 429 });
  expect(() => lists.begin('a')).toThrow(refused);
  lists.begin('b');
  ends[0]?.();
  ends[0]?.();
  lists.begin('a');
  expect(() => lists.begin('a')).toThrow(refused);
});

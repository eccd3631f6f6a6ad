import { seededFractions } from '../support/random/seeded.ts';

/** Random choices that a seed decides. */
export interface Random {
  /** From 0 up to but not including 1. */
  next(): number;
  /** True with the given probability. */
  chance(probability: number): boolean;
  /** A whole number from `from` to `to`, both included. */
  between(from: number, to: number): number;
  /** One of the items. Throws when there is none. */
  pick<Item>(items: readonly Item[]): Item;
  /** The items in some order. */
  shuffled<Item>(items: readonly Item[]): readonly Item[];
}

/** The choices of a seed. */
export function createRandom(seed: number): Random {
  const next = seededFractions(seed);
  return {
    next,
    chance: (probability) => next() < probability,
    between: (from, to) => from + Math.floor(next() * (to - from + 1)),
    pick(items) {
      const item = items[Math.floor(next() * items.length)];
      if (item === undefined) throw new Error('There is nothing to pick from');
      return item;
    },
    shuffled: (items) =>
      items
        .map((item) => ({ item, place: next() }))
        .toSorted((one, other) => one.place - other.place)
        .map(({ item }) => item),
  };
}

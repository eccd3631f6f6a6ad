import { seededFractions } from '../random/seeded.ts';

/** Choices that a seed decides. */
export interface Dice {
  /** A whole number from 0 to below the limit. */
  below(limit: number): number;
  chance(probability: number): boolean;
  /** Throws when there is nothing to pick from. */
  pick<Item>(items: readonly Item[]): Item;
  /** Up to so many items. */
  list<Item>(most: number, make: (index: number) => Item): Item[];
  /** Some of the items in any order. */
  some<Item>(items: readonly Item[], repeats: 'once' | 'with repeats'): Item[];
}

/** The same seed gives the same choices. */
export function diceOf(seed: number): Dice {
  const next = seededFractions(seed * 2_654_435_761);
  const below = (limit: number): number => Math.floor(next() * limit);
  return {
    below,
    chance: (probability) => next() < probability,
    pick(items) {
      if (items.length === 0) throw new Error('nothing to pick from');
      return items[below(items.length)] as (typeof items)[number];
    },
    list: (most, make) => Array.from({ length: below(most + 1) }, (_, index) => make(index)),
    some(items, repeats) {
      const mixed = items.map((item) => ({ item, place: next() })).toSorted((a, b) => a.place - b.place);
      const taken = mixed.slice(0, below(items.length + 1)).map(({ item }) => item);
      return repeats === 'once' ? taken : [...taken, ...taken.slice(0, 1)];
    },
  };
}

import type { Random } from '../simulation/random.ts';

/** About half of the choices, each as often as its weight; at least one. */
export function subset<Choice extends { readonly weight: number }>(
  random: Random,
  choices: readonly Choice[],
): readonly Choice[] {
  const [first, ...others] = random.shuffled(choices);
  if (!first) return [];
  const chosen = [first, ...others.filter(() => random.chance(0.5))];
  return chosen.flatMap((choice) => Array.from({ length: choice.weight }, () => choice));
}

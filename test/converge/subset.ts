import type { Random } from '../simulation/random.ts';

/** Some of the choices, each as often as its weight; at least one. */
export function subset<Choice extends { readonly weight: number }>(
  random: Random,
  choices: readonly Choice[],
  share: number,
): readonly Choice[] {
  const [first, ...others] = random.shuffled(choices);
  if (!first) return [];
  const chosen = [first, ...others.filter(() => random.chance(share))];
  return chosen.flatMap((choice) => Array.from({ length: choice.weight }, () => choice));
}

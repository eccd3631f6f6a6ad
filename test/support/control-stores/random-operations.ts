import type { Dice } from './dice.ts';
import { attemptMakers } from './random-attempts.ts';
import type { Made, Side } from './random-choices.ts';
import { outboxMakers } from './random-outbox.ts';
import { runMakers } from './random-runs.ts';

/** One step of a sequence. */
export interface Operation {
  readonly name: string;
  readonly run: (side: Side) => Promise<unknown>;
}

const all = { ...runMakers, ...attemptMakers, ...outboxMakers };

/** Without these, nothing else happens. */
const always = ['insertRun', 'beginRun', 'takeLane', 'recordBatch', 'endRun'];

/**
 * The kinds of operations of one sequence, each as often as its weight: a third of all, so that those that are in meet
 * each other. Those of the outbox mean nothing one by one.
 */
export function someKinds(dice: Dice): string[] {
  const hasOutbox = dice.chance(0.3);
  return Object.entries(all)
    .filter(([name]) => always.includes(name) || (name in outboxMakers ? hasOutbox : dice.chance(0.35)))
    .flatMap(([name, { weight }]) => Array.from({ length: weight }, () => name));
}

const first = ['beginRun', 'takeLane'];

/** The next step of a sequence. It begins with a run and an attempt at it: without those, nothing can be recorded. */
export function nextOperation(dice: Dice, made: Made, kinds: readonly string[]): Operation {
  const isOpen = made.attempts.length > 0 || dice.chance(0.1);
  const name = made.runs === 0 ? 'insertRun' : dice.pick(isOpen ? kinds : first);
  const maker = all[name];
  if (!maker) throw new Error(`There is no operation ${name}`);
  return { name, run: maker.make(dice, made) };
}

import { AppError } from '../../../src/core/errors.ts';
import type { ControlStore } from './control-store.ts';
import { diceOf } from './dice.ts';
import { Observer, type Rows } from './observed.ts';
import type { Made, Side } from './random-choices.ts';
import { nextOperation, type Operation, someKinds } from './random-operations.ts';

/** What one operation did in one store: its result or its error, and every row after it. */
export interface Step {
  readonly result: unknown;
  readonly rows: unknown;
}

/** An operation after which two stores differ. */
interface Difference {
  readonly seed: number;
  /** Names of the operations up to this one. */
  readonly operations: readonly string[];
  readonly first: Step;
  readonly second: Step;
}

/** What a sequence was made of. */
export interface Sequence {
  /** The first difference; null: there is none. */
  readonly difference: Difference | null;
  /** Operations by name that had a result. */
  readonly done: readonly string[];
  /** The outcomes of recorded batches and of begins, and the names of errors. */
  readonly outcomes: readonly string[];
}

interface Watched {
  readonly side: Side;
  readonly observer: Observer;
}

/** Runs one sequence of operations on two stores, and compares them after each. */
export async function compareStores(
  stores: readonly [ControlStore, ControlStore],
  { seed, length }: { readonly seed: number; readonly length: number },
  isEqual: (first: Step, second: Step) => boolean,
): Promise<Sequence> {
  const dice = diceOf(seed);
  const kinds = someKinds(dice);
  const [first, second] = [await open(stores[0]), await open(stores[1])];
  const made = startOf(seed);
  const done: string[] = [];
  const outcomes: string[] = [];
  for (let count = 0; count < length; count += 1) {
    const operation = nextOperation(dice, made, kinds);
    const [step, other] = await Promise.all([take(first, operation, made), take(second, operation, null)]);
    done.push(operation.name);
    outcomes.push(...outcomeOf(operation, step));
    if (!isEqual(step, other))
      return { difference: { seed, operations: done, first: step, second: other }, done, outcomes };
  }
  return { difference: null, done, outcomes };
}

async function open(store: ControlStore): Promise<Watched> {
  const org = await store.openOrg();
  const observer = new Observer();
  observer.observe(await org.rows());
  return { side: { org, runs: [], attempts: [] }, observer };
}

type Growing = { -readonly [Name in keyof Made]: Made[Name] };

function startOf(seed: number): Growing {
  let kept = 0;
  const newQuarantineId = () => {
    kept += 1;
    return `quar_${seed}_${String(kept).padStart(3, '0')}`;
  };
  const nothing = { runs: 0, attempts: [], batchNos: [], pageNos: [], quarantineIds: [] };
  return { beganMs: Date.now(), ...nothing, newQuarantineId };
}

async function take({ side, observer }: Watched, operation: Operation, made: Growing | null): Promise<Step> {
  const result = await resultOf(operation, side);
  const rows = await side.org.rows();
  // Only the clock moved: every time in the rows is one of before.
  if (operation.name === 'passes') observer.observe(rows);
  if (made) note(made, side, rows);
  const observed = observer.observe(rows);
  return { result: observer.plain(result), rows: observed };
}

async function resultOf(operation: Operation, side: Side): Promise<unknown> {
  try {
    return await operation.run(side);
  } catch (error) {
    return { threw: error instanceof AppError ? error.code : 'refused' };
  }
}

function note(made: Growing, side: Side, { runs, quarantine }: Rows): void {
  made.runs = side.runs.length;
  made.attempts = side.attempts.map(({ seq }) => runs.findIndex((run) => run['seq'] === seq));
  made.batchNos = runs.map(({ batchNo }) => Number(batchNo));
  made.pageNos = runs.map(({ pageNo }) => Number(pageNo));
  made.quarantineIds = quarantine.map(({ id }) => String(id));
}

function outcomeOf({ name }: Operation, { result }: Step): readonly string[] {
  if (typeof result === 'string' || result === true) return [`${name} ${result}`];
  if (typeof result !== 'object' || result === null) return [];
  if ('threw' in result) return [`${name} threw ${String(result.threw)}`];
  if ('turn' in result) return [`${name} ${String(result.turn)}`];
  return 'outcome' in result ? [`${name} ${String(result.outcome)}`] : [];
}

import { literalTest } from './literal-pattern.ts';
import { compilePattern, type Instruction, type PatternProgram } from './pattern-program.ts';

/** The remaining work in visited instructions, shared by the tests of one record. */
export interface PatternBudget {
  left: number;
}

/** Some 100 ms of one check; only an adversarial pattern on long texts comes near. */
export const patternVisitsMax = 2_000_000;

export class PatternBudgetError extends Error {
  override readonly name = 'PatternBudgetError';
}

export interface LinearPattern {
  /** Instructions of its program: each takes about 0.6 µs to compile and some 120 bytes. */
  readonly size: number;
  /** Throws {@link PatternBudgetError}. */
  test(text: string, budget: PatternBudget): boolean;
}

/**
 * Node's own engine backtracks, so a customer's pattern such as `^(a+)+$` could block a worker for hours. This one
 * follows all paths at once and caches its states (a lazily built automaton): about 150 ns for 20 characters. Throws
 * `AppError` `spec_invalid` for a pattern without a linear program.
 */
export function createLinearPattern(pattern: string): LinearPattern {
  // Compiled first, because it refuses patterns that no schema may use.
  const program = compilePattern(pattern);
  const literal = literalTest(pattern);
  const test = literal ? testOfLiteral(literal) : testOfProgram(program);
  return { size: program.size, test };
}

function testOfLiteral(isMatch: (text: string) => boolean): LinearPattern['test'] {
  return (text, budget) => {
    const matches = isMatch(text);
    // The same charge as at the end of an automaton's walk.
    if (!matches) spend(budget, 1);
    return matches;
  };
}

function testOfProgram(program: PatternProgram): LinearPattern['test'] {
  return (text, budget) => {
    const automaton = automatonOf(program);
    automaton.start ??= intern(automaton, [program.start], 'start');
    let state = automaton.start;
    for (let index = 0; index < text.length; index += 1) {
      const code = text.codePointAt(index) ?? 0;
      if (code > 0xffff) index += 1;
      const known = code < asciiSize ? state.afterAscii[code] : state.after.get(code);
      const next = known ?? advance(program, { state, character: String.fromCodePoint(code), budget, automaton });
      if (known === undefined) remember(automaton, { state, code, next });
      if (next === 'matched') return true;
      state = next;
    }
    return matchesAtEnd(program, { state, budget });
  };
}

interface Automaton {
  states: Map<string, State>;
  start: State | null;
  bytes: number;
}

/** Above a limit all states are dropped: they refer to each other, so one that an LRU cache drops would stay in memory. */
const automatonBytesMax = 1_000_000;
const automataBytesMax = 32_000_000;

/** Approximate bytes of a state, of each of its entries, and of each remembered character beyond ASCII. */
const stateBytes = 1_500;
const entryBytes = 16;
const characterBytes = 50;

let automata = new Map<PatternProgram, Automaton>();
let automataBytes = 0;

function automatonOf(program: PatternProgram): Automaton {
  const known = automata.get(program);
  if (known) return known;
  const automaton: Automaton = { states: new Map(), start: null, bytes: 0 };
  automata.set(program, automaton);
  return automaton;
}

function grow(automaton: Automaton, bytes: number): void {
  if (automaton.bytes + bytes > automatonBytesMax) {
    automataBytes -= automaton.bytes;
    Object.assign(automaton, { states: new Map(), start: null, bytes: 0 });
  }
  if (automataBytes + bytes > automataBytesMax) {
    automata = new Map();
    automataBytes = 0;
    automaton.bytes = 0;
  }
  automaton.bytes += bytes;
  automataBytes += bytes;
}

function intern(automaton: Automaton, entries: readonly number[], before: Before): State {
  const key = `${before}${entries.join()}`;
  const known = automaton.states.get(key);
  if (known !== undefined) return known;
  grow(automaton, stateBytes + entryBytes * entries.length);
  const state: State = { entries, before, afterAscii: [], after: new Map(), atEnd: null };
  automaton.states.set(key, state);
  return state;
}

type Before = 'start' | 'word' | 'other';

/** The positions in the program before the next character; the pattern may also start again there. */
interface State {
  readonly entries: readonly number[];
  readonly before: Before;
  /** An array for the most common code points is much faster to read than a map. */
  readonly afterAscii: (State | 'matched' | undefined)[];
  readonly after: Map<number, State | 'matched'>;
  atEnd: boolean | null;
}

const asciiSize = 0x80;

interface Step {
  readonly state: State;
  readonly code: number;
  readonly next: State | 'matched';
}

function remember(automaton: Automaton, { state, code, next }: Step): void {
  if (code < asciiSize) {
    state.afterAscii[code] = next;
    return;
  }
  grow(automaton, characterBytes);
  state.after.set(code, next);
}

function matchesAtEnd(
  program: PatternProgram,
  { state, budget }: { readonly state: State; readonly budget: PatternBudget },
): boolean {
  // A known end costs too: this bounds how many texts of a record are tested.
  if (state.atEnd !== null) spend(budget, 1);
  else state.atEnd = reach(program, { state, character: null, budget }) === 'matched';
  return state.atEnd;
}

/** Throws {@link PatternBudgetError} when the budget is spent. */
export function spend(budget: PatternBudget, visits: number): void {
  budget.left -= visits;
  if (budget.left < 0) throw new PatternBudgetError('The patterns take too long on this text');
}

interface Position {
  readonly state: State;
  /** `null` at the end of the text. */
  readonly character: string | null;
  readonly budget: PatternBudget;
}

function advance(program: PatternProgram, position: Position & { readonly automaton: Automaton }): State | 'matched' {
  const { character, automaton, budget } = position;
  const takers = reach(program, position);
  if (takers === 'matched' || character === null) return 'matched';
  const entries = new Set([program.start]);
  for (const taker of takers) {
    budget.left -= 1;
    if (taker.accepts(character)) entries.add(taker.next);
  }
  return intern(
    automaton,
    [...entries].sort((a, b) => a - b),
    isWord(character) ? 'word' : 'other',
  );
}

type Taker = Extract<Instruction, { op: 'take' }>;

function reach({ instructions }: PatternProgram, { state, character, budget }: Position): readonly Taker[] | 'matched' {
  const takers: Taker[] = [];
  const pending = [...state.entries];
  const seen = new Set(pending);
  const visit = (index: number): void => {
    if (seen.has(index)) return;
    seen.add(index);
    pending.push(index);
  };
  for (let index = pending.pop(); index !== undefined; index = pending.pop()) {
    spend(budget, 1);
    const instruction = instructions[index];
    if (instruction === undefined || instruction.op === 'match') return 'matched';
    if (instruction.op === 'take') takers.push(instruction);
    else if (instruction.op === 'split') {
      visit(instruction.first);
      visit(instruction.second);
    } else if (holds(instruction.place, { before: state.before, character })) visit(instruction.next);
  }
  return takers;
}

function holds(
  place: '^' | '$' | '\\b' | '\\B',
  { before, character }: { readonly before: Before; readonly character: string | null },
): boolean {
  if (place === '^') return before === 'start';
  if (place === '$') return character === null;
  const boundary = (before === 'word') !== (character !== null && isWord(character));
  return place === '\\b' ? boundary : !boundary;
}

const isWord = (character: string): boolean => /^\w$/.test(character);

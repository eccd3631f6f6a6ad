import { AppError } from '../errors.ts';

export type Instruction =
  | { readonly op: 'take'; readonly accepts: (character: string) => boolean; readonly next: number }
  | { readonly op: 'split'; readonly first: number; readonly second: number }
  | { readonly op: 'require'; readonly place: '^' | '$' | '\\b' | '\\B'; readonly next: number }
  | { readonly op: 'match' };

export interface PatternProgram {
  readonly instructions: readonly Instruction[];
  readonly start: number;
  readonly size: number;
}

/** `instructionsMax` applies once counted repetitions are written out. */
const limits = { lengthMax: 4_096, instructionsMax: 10_000 } as const;

/** Memory of a native expression for one character (some 4 KB), counted in instructions. */
const nativeSize = 30;

/**
 * Compiles an ECMA-262 pattern to a program that runs in linear time. Throws `AppError` `spec_invalid` for lookaround,
 * backreferences, and invalid or too large expressions.
 */
export function compilePattern(pattern: string): PatternProgram {
  if (pattern.length > limits.lengthMax) throw refuse(pattern, `is longer than ${limits.lengthMax} characters`);
  const reader: Reader = { pattern, position: 0, flags: validFlags(pattern), natives: 0 };
  const node = readAlternatives(reader);
  const instructions: Instruction[] = [{ op: 'match' }];
  const add = (instruction: Instruction): number => {
    if (instructions.length >= limits.instructionsMax) throw refuse(pattern, 'repeats too much; use maxLength instead');
    return instructions.push(instruction) - 1;
  };
  const patch = (index: number, instruction: Instruction): void => {
    instructions[index] = instruction;
  };
  const start = emit(node, { next: 0, add, patch });
  return { start, instructions, size: instructions.length + nativeSize * reader.natives };
}

type Node =
  | { readonly kind: 'take'; readonly accepts: (character: string) => boolean }
  | { readonly kind: 'require'; readonly place: '^' | '$' | '\\b' | '\\B' }
  | { readonly kind: 'sequence' | 'either'; readonly nodes: readonly Node[] }
  | { readonly kind: 'repeat'; readonly node: Node; readonly min: number; readonly max: number };

interface Reader {
  readonly pattern: string;
  readonly flags: 'u' | '';
  position: number;
  natives: number;
}

/** JSON Schema requires Unicode patterns; many existing ones are valid only without the flag. */
function validFlags(pattern: string): 'u' | '' {
  for (const flags of ['u', ''] as const) {
    try {
      return new RegExp(pattern, flags).flags === 'u' ? 'u' : '';
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
    }
  }
  throw refuse(pattern, 'is not a regular expression');
}

function readAlternatives(reader: Reader): Node {
  const nodes = [readSequence(reader)];
  while (reader.pattern[reader.position] === '|') {
    reader.position += 1;
    nodes.push(readSequence(reader));
  }
  return { kind: 'either', nodes };
}

function readSequence(reader: Reader): Node {
  const nodes: Node[] = [];
  for (;;) {
    const character = reader.pattern[reader.position];
    if (character === undefined || character === '|' || character === ')') return { kind: 'sequence', nodes };
    nodes.push(readQuantifier(readAtom(reader), reader));
  }
}

const quantifier = /(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})\??/y;

function readQuantifier(node: Node, reader: Reader): Node {
  quantifier.lastIndex = reader.position;
  const match = quantifier.exec(reader.pattern);
  if (match === null) return node;
  reader.position = quantifier.lastIndex;
  const [, sign, low, comma, high] = match;
  if (sign !== undefined) return { kind: 'repeat', node, min: sign === '+' ? 1 : 0, max: sign === '?' ? 1 : Infinity };
  const min = Number(low);
  const open = comma !== undefined && high === '';
  return { kind: 'repeat', node, min, max: open ? Infinity : Number(high ?? low) };
}

const groupStart = /\((?:\?(?:<[^=!>][^>]*>|:))?/y;
const assertion = /\^|\$|\\b|\\B/y;
const unsupported = /\(\?|\\[1-9]|\\k/y;
/** A class, an escape or one character, which a native expression can check alone. */
const single =
  /\[(?:\\[^]|[^\]\\])*\]|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u\{[^}]*\}|\\[pP]\{[^}]*\}|\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|\\c[A-Za-z]|\\[^]|[\uD800-\uDBFF][\uDC00-\uDFFF]|[^]/y;

/** Matches itself alone, with and without the Unicode flag. */
const plainCharacter = /^[^\\.[\]^$]$/u;

function readAtom(reader: Reader): Node {
  const { pattern } = reader;
  const place = take(assertion, reader);
  if (place === '^' || place === '$' || place === '\\b' || place === '\\B') return { kind: 'require', place };
  if (take(groupStart, reader, { unless: /\(\?(?![:<])|\(\?<[=!]/y }) !== null) {
    const node = readAlternatives(reader);
    reader.position += 1;
    return node;
  }
  if (take(unsupported, reader) !== null) {
    throw refuse(pattern, 'uses lookaround, a backreference or a flag group, which cannot be checked in bounded time');
  }
  const source = take(single, reader) ?? '';
  if (plainCharacter.test(source)) return { kind: 'take', accepts: (character) => character === source };
  reader.natives += 1;
  const expression = new RegExp(`^(?:${source})$`, reader.flags);
  return { kind: 'take', accepts: (character) => expression.test(character) };
}

function take(expression: RegExp, reader: Reader, { unless }: { readonly unless?: RegExp } = {}): string | null {
  if (unless !== undefined) {
    unless.lastIndex = reader.position;
    if (unless.test(reader.pattern)) return null;
  }
  expression.lastIndex = reader.position;
  const match = expression.exec(reader.pattern);
  if (match === null) return null;
  reader.position = expression.lastIndex;
  return match[0];
}

interface Emission {
  readonly next: number;
  readonly add: (instruction: Instruction) => number;
  readonly patch: (index: number, instruction: Instruction) => void;
}

/** Writes the node's instructions back to front and returns its entry. */
function emit(node: Node, emission: Emission): number {
  const { next, add } = emission;
  switch (node.kind) {
    case 'take':
      return add({ op: 'take', accepts: node.accepts, next });
    case 'require':
      return add({ op: 'require', place: node.place, next });
    case 'sequence':
      // An empty sequence costs an instruction too, so that repeating it is bounded.
      if (node.nodes.length === 0) return add({ op: 'split', first: next, second: next });
      return node.nodes.reduceRight((after, part) => emit(part, { ...emission, next: after }), next);
    case 'either':
      return node.nodes
        .map((part) => emit(part, emission))
        .reduceRight((second, first) => add({ op: 'split', first, second }));
    case 'repeat':
      return emitRepeat(node, emission);
  }
}

function emitRepeat({ node, min, max }: Extract<Node, { kind: 'repeat' }>, emission: Emission): number {
  const { add, patch } = emission;
  let entry = emission.next;
  if (max === Infinity) {
    const loop = add({ op: 'match' });
    patch(loop, { op: 'split', first: emit(node, { ...emission, next: loop }), second: emission.next });
    entry = loop;
  } else {
    for (let count = min; count < max; count += 1) {
      entry = add({ op: 'split', first: emit(node, { ...emission, next: entry }), second: emission.next });
    }
  }
  for (let count = 0; count < min; count += 1) entry = emit(node, { ...emission, next: entry });
  return entry;
}

function refuse(pattern: string, reason: string): AppError {
  return new AppError('spec_invalid', `The pattern ${JSON.stringify(pattern.slice(0, 100))} ${reason}.`);
}

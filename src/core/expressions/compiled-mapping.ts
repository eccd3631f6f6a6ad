import jsonata from 'jsonata';
import { textDefect } from '../pipeline/record-gate.ts';

/** What a compiled mapping answers for a record on which only JSONata itself knows the result. */
export const needsJsonata: unique symbol = Symbol('needs JSONata');

/** Takes a record to its row, or says that JSONata has to. */
export type CompiledMapping = (record: unknown) => Readonly<Record<string, unknown>> | typeof needsJsonata;

/** Text of one row that is certainly within JSONata's own limits, in UTF-16 units. */
const rowLengthMax = 100_000;

/**
 * Compiles the plainest and commonest of transforms to closures: an object whose keys are literals and whose values are
 * literals, dotted paths, `$number(path)`, or such objects again. It runs in this process, some hundred times faster
 * than the interpreter, and is bounded by construction: no loop, no recursion over data, no pattern of the author's.
 *
 * It decides only what is beyond doubt. A path that meets an array or ends at an object, a text that is no plain number,
 * a null where a function would refuse it: {@link needsJsonata}, and the record goes the ordinary way. Null: the
 * expression is anything more than such a mapping. With `nulls: missing` a JSON null of the record counts as absent.
 */
export function compileMapping(
  expression: string,
  { nulls }: { readonly nulls: 'keep' | 'missing' },
): CompiledMapping | null {
  const node = parse(expression);
  const build = node === null ? null : compileObject(node);
  if (build === null) return null;
  return (record) => {
    if (typeof record !== 'object' || record === null || Array.isArray(record)) return needsJsonata;
    return build({ record, nulls, lengthLeft: rowLengthMax });
  };
}

/** One row in the making. */
interface Making {
  readonly record: object;
  readonly nulls: 'keep' | 'missing';
  lengthLeft: number;
}

type Compiled = (making: Making) => unknown;
type CompiledObject = (making: Making) => Readonly<Record<string, unknown>> | typeof needsJsonata;

/** A node of jsonata's syntax tree; its published type lacks what the parser leaves in it. */
interface AstNode {
  readonly type: string;
  readonly value?: unknown;
  readonly lhs?: readonly (readonly [AstNode, AstNode])[];
  readonly steps?: readonly AstNode[];
  readonly procedure?: AstNode;
  readonly arguments?: readonly AstNode[];
}

function parse(expression: string): AstNode | null {
  try {
    return jsonata(expression).ast() as AstNode;
  } catch {
    // Not JSONata: the interpreter says so in its own words.
    return null;
  }
}

/** Whether the node is just this: filters, groupings, kept arrays and bindings show as further properties. */
const isBare = (node: AstNode, ...properties: readonly string[]): boolean =>
  Object.entries(node).every(
    ([key, value]) => value === undefined || key === 'type' || key === 'position' || properties.includes(key),
  );

function compileObject(node: AstNode): CompiledObject | null {
  if (node.type !== 'unary' || node.value !== '{' || !isBare(node, 'value', 'lhs')) return null;
  const fields = new Map<string, Compiled>();
  for (const [key, child] of node.lhs ?? []) {
    const name = key.type === 'string' && isBare(key, 'value') ? key.value : null;
    const compute = compileValue(child);
    // A key that comes twice is an error to JSONata; `__proto__` is no property like others.
    if (typeof name !== 'string' || name === '__proto__' || fields.has(name) || compute === null) return null;
    fields.set(name, compute);
  }
  return (making) => {
    const row: Record<string, unknown> = {};
    for (const [name, compute] of fields) {
      const result = compute(making);
      if (result === needsJsonata) return needsJsonata;
      if (result !== undefined) row[name] = result;
    }
    return row;
  };
}

function compileValue(node: AstNode): Compiled | null {
  switch (node.type) {
    case 'string':
    case 'number':
    case 'value':
      return compileLiteral(node);
    case 'path':
      return compilePath(node);
    case 'function':
      return compileNumber(node);
    case 'unary':
      return compileObject(node);
    default:
      return null;
  }
}

function compileLiteral(node: AstNode): Compiled | null {
  const { value } = node;
  if (!isBare(node, 'value') || (typeof value === 'string' && textDefect(value) !== null)) return null;
  return () => value;
}

function compilePath(node: AstNode): Compiled | null {
  const names: string[] = [];
  for (const step of node.steps ?? []) {
    if (step.type !== 'name' || !isBare(step, 'value') || typeof step.value !== 'string') return null;
    names.push(step.value);
  }
  const [first] = names;
  if (first === undefined || boundNames.has(first) || !isBare(node, 'steps')) return null;
  return (making) => {
    let value: unknown = making.record;
    for (const name of names) {
      if (Array.isArray(value)) return needsJsonata;
      if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
      value = Reflect.get(value, name);
    }
    return scalarOf(value, making);
  };
}

/** What the evaluator lets an expression see beside the record's own fields. */
const boundNames = new Set(['lookups', 'params', 'each', 'run']);

/** Objects and arrays go the ordinary way, where their size and every value in them is judged. */
function scalarOf(value: unknown, making: Making): unknown {
  if (value === null) return making.nulls === 'missing' ? undefined : null;
  if (typeof value === 'object') return needsJsonata;
  if (typeof value === 'string') {
    making.lengthLeft -= value.length;
    if (making.lengthLeft < 0) return needsJsonata;
  }
  return typeof value === 'number' ? plainNumber(value) : value;
}

/** JSON has no negative zero. */
const plainNumber = (value: number): number => (value === 0 ? 0 : value);

/** `$number` of a path, for numbers and for texts that are plain decimals. */
function compileNumber(node: AstNode): Compiled | null {
  const { procedure, arguments: args = [] } = node;
  const isNumber = procedure?.type === 'variable' && procedure.value === 'number' && isBare(procedure, 'value');
  const [argument] = args;
  if (!isNumber || args.length !== 1 || !isBare(node, 'value', 'procedure', 'arguments')) return null;
  const compute = argument?.type === 'path' ? compilePath(argument) : null;
  if (compute === null) return null;
  return (making) => {
    const value = compute(making);
    if (value === undefined || typeof value === 'number') return value;
    return typeof value === 'string' && plainDecimal.test(value) ? plainNumber(Number(value)) : needsJsonata;
  };
}

/** Few enough digits that the number is finite. */
const plainDecimal = /^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?$/;

import jsonata from 'jsonata';
import { isJsonObject } from '../json/is-json-object.ts';
import { zoneOffset } from './zone-offset.ts';

/** Values by name. */
export type Values = Readonly<Record<string, unknown>>;

/** What an expression sees in one job besides its input. */
export interface Scope {
  /** The scope for records without lookups of their own. */
  readonly shared: EvaluationScope;
  /** The scope for a record whose own lookups join the tables; the tables themselves are not copied. */
  withOwn(lookups: Values): EvaluationScope;
}

/** The bindings and tables of one record. */
interface EvaluationScope {
  readonly bindings: Values;
  /** The input with `lookups` readable as a plain name too, unless it has such a field itself. */
  withTables(input: unknown): unknown;
}

/**
 * Makes the function that gives a job its scope. An empty `bindingsText` means the previous text. Small bindings are
 * parsed for every job, as an expression that redefines `$clone` can change its input; large ones are shared by the
 * jobs of one expression.
 */
export function createScope(): (job: {
  readonly expression: string;
  readonly nowMs: number;
  readonly bindingsText: string;
}) => Promise<Scope> {
  const held: { text: string; owner: string; values: Values } = { text: '{}', owner: '', values: {} };
  return async ({ expression, nowMs, bindingsText }) => {
    const isNew = bindingsText !== '';
    if (isNew) held.text = bindingsText;
    if (isNew || held.owner !== expression || held.text.length <= parsedEachTimeMax) {
      held.owner = expression;
      held.values = JSON.parse(held.text);
    }
    const { lookups } = held.values;
    const names = await namesInUse(expression);
    const namesTables = bareLookups.test(expression);
    const bindings = { ...held.values, ...fixedFunctions(nowMs) };
    const scopeOf = (tables: unknown): EvaluationScope => ({
      bindings: isJsonObject(tables) ? { ...picked(tables, names), ...bindings, lookups: tables } : bindings,
      withTables: (input) => (namesTables && isJsonObject(tables) ? withHidden(input, tables) : input),
    });
    return {
      shared: scopeOf(lookups),
      withOwn: (own) => scopeOf(isJsonObject(lookups) ? { ...lookups, ...own } : own),
    };
  };
}

/** Above this a fresh copy for every batch would cost more than the batch. */
const parsedEachTimeMax = 65_536;

/** `lookups` without `$`: the tables, where the input has no such field. */
export const bareLookups = /(?<![$\w])lookups\b/;

/** What an input itself binds as `$name`. */
export const namesOfInput: readonly string[] = ['lookups', 'params', 'each', 'run'];

/** The bindings of an input alone: its `lookups`, `params`, `each` and `run` as `$name`. */
export function bindInput(input: unknown, nowMs: number): Values {
  if (!isJsonObject(input)) return fixedFunctions(nowMs);
  const names = namesOfInput.filter((name) => Object.hasOwn(input, name));
  return { ...Object.fromEntries(names.map((name) => [name, input[name]])), ...fixedFunctions(nowMs) };
}

/** A copy without JSON nulls, in objects and arrays, as JSONata treats a missing value. */
export function withoutNulls(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.filter((item) => item !== null).map(withoutNulls);
  const entries = Object.entries(value).filter(([, child]) => child !== null);
  return Object.fromEntries(entries.map(([key, child]) => [key, withoutNulls(child)]));
}

/** The input itself with a property `lookups`. JSONata sees own properties that no copy, `$keys` or JSON text shows. */
export function withHidden(input: unknown, lookups: unknown): unknown {
  if (isJsonObject(input) && !Object.hasOwn(input, 'lookups')) {
    Object.defineProperty(input, 'lookups', { value: lookups, enumerable: false });
  }
  return input;
}

/** What the expression names as `$<name>` may be a table, unless it is a function of JSONata's. */
async function namesInUse(expression: string): Promise<readonly string[]> {
  const names: string[] = [];
  for (const name of new Set(expression.match(/(?<=\$)[A-Za-z_]\w{0,62}\b/g))) {
    if (!(await isBuiltin(name))) names.push(name);
  }
  return names;
}

const picked = (tables: Values, names: readonly string[]): Values =>
  Object.fromEntries(names.flatMap((name) => (Object.hasOwn(tables, name) ? [[name, tables[name]]] : [])));

const isBuiltin = async (name: string): Promise<boolean> =>
  (await jsonata(`$${name}`).evaluate(undefined)) !== undefined;

const format = jsonata('$fromMillis($ms, $picture, $zone)');

/** A retried page must give the same rows: the clock is fixed at the run's start; no randomness and no `$eval`. */
function fixedFunctions(nowMs: number): Values {
  return {
    now: (picture: unknown, zone: unknown) =>
      picture === undefined ? new Date(nowMs).toISOString() : format.evaluate(undefined, { ms: nowMs, picture, zone }),
    millis: () => nowMs,
    zoneOffset,
    random: refuse('random', 'a retried page must produce the same rows'),
    shuffle: refuse('shuffle', 'a retried page must produce the same rows'),
    eval: refuse('eval', 'an expression is checked before it runs'),
  };
}

const refuse = (name: string, reason: string) => () => {
  throw new Error(`$${name} is not available: ${reason}`);
};

import jsonata from 'jsonata';
import { isJsonObject } from '../json/is-json-object.ts';
import { zoneOffset } from './zone-offset.ts';

export type Values = Readonly<Record<string, unknown>>;

export interface Scope {
  readonly shared: EvaluationScope;
  /** For a record whose own lookups join the tables; the tables themselves are not copied. */
  withOwn(lookups: Values): EvaluationScope;
}

interface EvaluationScope {
  readonly bindings: Values;
  /** Makes `lookups` readable as a plain name too, unless the input has such a field. */
  withTables(input: unknown): unknown;
}

/**
 * An empty `bindingsText` means the previous text. Small bindings are parsed for every job, as an expression that
 * redefines `$clone` can change its input. Large ones are shared by the jobs of one expression.
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

export const namesOfInput: readonly string[] = ['lookups', 'params', 'each', 'run'];

export function bindInput(input: unknown, nowMs: number): Values {
  if (!isJsonObject(input)) return fixedFunctions(nowMs);
  const names = namesOfInput.filter((name) => Object.hasOwn(input, name));
  return { ...Object.fromEntries(names.map((name) => [name, input[name]])), ...fixedFunctions(nowMs) };
}

export function withoutNulls(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.filter((item) => item !== null).map(withoutNulls);
  const entries = Object.entries(value).filter(([, child]) => child !== null);
  return Object.fromEntries(entries.map(([key, child]) => [key, withoutNulls(child)]));
}

/** JSONata sees own properties that copies, `$keys` and JSON text do not show. */
export function withHidden(input: unknown, lookups: unknown): unknown {
  if (isJsonObject(input) && !Object.hasOwn(input, 'lookups')) {
    Object.defineProperty(input, 'lookups', { value: lookups, enumerable: false });
  }
  return input;
}

/** Names that the expression uses as `$<name>` and that may be tables, because they are not JSONata functions. */
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

/** A retried page must give the same rows: the clock is fixed at the run's start, without randomness or `$eval`. */
function fixedFunctions(nowMs: number): Values {
  return {
    now: (picture: unknown, zone: unknown) =>
      picture === undefined ? new Date(nowMs).toISOString() : format.evaluate(undefined, { ms: nowMs, picture, zone }),
    millis: () => nowMs,
    // An expression can change a function that it is given.
    zoneOffset: (...args: Parameters<typeof zoneOffset>) => zoneOffset(...args),
    random: refuse('random', 'a retried page must produce the same rows'),
    shuffle: refuse('shuffle', 'a retried page must produce the same rows'),
    eval: refuse('eval', 'an expression is checked before it runs'),
  };
}

const refuse = (name: string, reason: string) => () => {
  throw new Error(`$${name} is not available: ${reason}`);
};

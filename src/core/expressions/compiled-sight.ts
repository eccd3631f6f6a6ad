import { isJsonObject } from '../json/is-json-object.ts';
import { bindingsLengthMax } from './bindings-text.ts';
import type { CompiledExpression } from './compiled/compile.ts';
import { type PlainValue, plainInput } from './compiled/plain-values.ts';
import type { Bindings, RecordLookups } from './evaluation.ts';
import { bareLookups, namesOfInput, withHidden, withoutNulls } from './scope.ts';

export interface Given {
  readonly root: unknown;
  /** The values of the expression's variables, in their order. */
  readonly bound: readonly unknown[];
}

export interface EvaluationScope {
  readonly variables: readonly string[];
  /** Whether the tables are fields of the record too. */
  readonly namesTables: boolean;
  readonly isFree: boolean;
  readonly nulls: 'keep' | 'missing';
  readonly arePlain: boolean;
  readonly values: Bindings;
  /** Bound where a record has no tables of its own. */
  readonly shared: readonly unknown[];
}

interface EvaluationScopeOptions {
  readonly expression: string;
  readonly compiled: CompiledExpression;
  readonly bindings: Bindings;
  readonly nulls: 'keep' | 'missing';
  readonly arePlain?: boolean;
  readonly plainOf: (value: unknown) => PlainValue | null;
}

/** `null` when the bindings are for JSONata alone, or too large together, which the pool reports. */
export function createEvaluationScope(options: EvaluationScopeOptions): EvaluationScope | null {
  const { expression, compiled, bindings, nulls, arePlain = false, plainOf } = options;
  // Another name might hide a JSONata function.
  if (!Object.keys(bindings).every((name) => namesOfInput.includes(name))) return null;
  const namesTables = bareLookups.test(expression);
  const isFree = compiled.variables.length === 0 && !namesTables;
  const values = isFree ? {} : plainBindings(bindings, plainOf);
  if (values === null) return null;
  if (meansFunction(compiled, values)) return null;
  const { variables } = compiled;
  return {
    variables,
    namesTables,
    isFree,
    nulls,
    arePlain,
    values,
    shared: boundBy(variables, values, values['lookups']),
  };
}

/** Gives an expression its view of a record, as scope.ts does for JSONata; `null` when only JSONata can evaluate it. */
export function see(scope: EvaluationScope, record: unknown, own: RecordLookups): Given | null {
  const { variables, namesTables, isFree, nulls, arePlain, values, shared } = scope;
  const input = arePlain && isJsonObject(record) ? record : plainInput(record)?.value;
  if (input === undefined) return null;
  const root = nulls === 'missing' ? withoutNulls(input) : input;
  if (isFree) return { root, bound: shared };
  const tables = own === null ? { value: values['lookups'] } : joinedTables(values['lookups'], own);
  if (tables === null) return null;
  return {
    root:
      namesTables && isJsonObject(root) && isJsonObject(tables.value) ? withHidden({ ...root }, tables.value) : root,
    bound: own === null ? shared : boundBy(variables, values, tables.value),
  };
}

/** `null` when only JSONata can evaluate the expression. */
export function scopeOfInput({ variables }: CompiledExpression, input: unknown): Given | null {
  const plain = plainInput(input);
  if (plain === null) return null;
  const root = plain.value;
  if (meansFunction({ variables }, isJsonObject(root) ? root : {})) return null;
  const isBound = (name: string): boolean =>
    namesOfInput.includes(name) && isJsonObject(root) && Object.hasOwn(root, name);
  return { root, bound: variables.map((name) => (isJsonObject(root) && isBound(name) ? root[name] : undefined)) };
}

/** `$each` is a JSONata function where the caller binds no `each`. */
const meansFunction = ({ variables }: Pick<CompiledExpression, 'variables'>, bindings: Bindings): boolean =>
  variables.includes('each') && !Object.hasOwn(bindings, 'each');

function plainBindings(bindings: Bindings, plainOf: EvaluationScopeOptions['plainOf']): Bindings | null {
  const values: Record<string, unknown> = {};
  let length = 2;
  for (const [name, value] of Object.entries(bindings)) {
    if (value === undefined) continue;
    const plain = plainOf(value);
    if (plain === null) return null;
    values[name] = plain.value;
    length += JSON.stringify(name).length + plain.length + 2;
  }
  return length > bindingsLengthMax ? null : values;
}

function joinedTables(tables: unknown, own: NonNullable<RecordLookups>): { readonly value: unknown } | null {
  const plain = plainInput(own);
  if (plain === null || !isJsonObject(plain.value)) return null;
  return { value: isJsonObject(tables) ? { ...tables, ...plain.value } : plain.value };
}

/** Tables are bound under their own names too, after everything else. */
function boundBy(variables: readonly string[], bindings: Bindings, tables: unknown): readonly unknown[] {
  return variables.map((name) => {
    if (name === 'lookups' && isJsonObject(tables)) return tables;
    if (Object.hasOwn(bindings, name)) return bindings[name];
    return isJsonObject(tables) && Object.hasOwn(tables, name) ? tables[name] : undefined;
  });
}

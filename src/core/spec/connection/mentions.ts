import { parseExpression } from '../../expressions/expression.ts';
import { type Reference, referencesIn } from '../../expressions/references.ts';
import type { JsonObject } from '../../json/json-object.ts';
import { type Located, valuesAt } from '../check/document-paths.ts';
import { type ExpressionPlace, expressionPlaces } from '../check/expression-places.ts';
import { expressionsAt } from '../check/expressions.ts';
import { dependenciesOf, lookupReferences } from '../check/step-dependencies.ts';
import type { Lookup } from '../schema/lookup-schema.ts';
import type { ConnectorSpec, Resource } from '../schema/spec-schema.ts';
import { findResource } from './find-resource.ts';

/** Names that texts of a spec read from outside; `null` among them means any. */
export type Names = ReadonlySet<string | null>;

export interface Mentions {
  readonly params: Names;
  /** The mentioned tables and the tables that those need. */
  readonly lookups: readonly Lookup[];
}

/** Mentions in the expressions at some places of a spec; `isPlace` gets patterns such as `resources.0.filter`. */
export function mentionsAt(spec: ConnectorSpec, isPlace: (at: string) => boolean): Mentions {
  const places = expressionPlaces(spec);
  const own = textsWithin(spec, isPlace);
  const lookups = withDependencies(
    spec,
    own.flatMap((text) => lookupReferences(text, parseExpression)),
  );
  const loads = places.filter(({ at }) => at.startsWith('lookups.'));
  const all = [
    ...own,
    ...lookups.flatMap((lookup) =>
      loads.flatMap(({ at, form }) => {
        const [, , ...within] = at.split('.');
        return valuesAt(lookup, within.join('.')).flatMap((located) => expressionsAt(form, located, parseExpression));
      }),
    ),
  ];
  const references = all.flatMap(referencesOf);
  return { params: membersOf(references, 'params'), lookups };
}

/** Names of the values of a connection, secret or not, that the expressions at some places read. */
export function valuesNamedAt(spec: ConnectorSpec, isPlace: (at: string) => boolean): Names {
  return connectionValues(textsWithin(spec, isPlace));
}

/** The same of the templates in one value. */
export const valuesNamedIn = (located: Located): Names =>
  connectionValues(expressionsAt('templates', located, parseExpression));

function connectionValues(texts: readonly string[]): Names {
  const references = texts.flatMap(referencesOf);
  return new Set([...membersOf(references, 'params'), ...membersOf(references, 'secrets')]);
}

export const isWithin =
  (places: readonly string[]): ((at: string) => boolean) =>
  (at) =>
    places.some((place) => at === place || at.startsWith(`${place}.`));

/** Caches a result per resource with its parsed spec, which stays in memory while runs use it: each run asks. */
export function perResource<Made>(
  make: (spec: ConnectorSpec, resource: Resource) => Made,
): (spec: ConnectorSpec, resourceKey: string) => Made {
  const known = new WeakMap<ConnectorSpec, Map<string, Made>>();
  return (spec, resourceKey) => {
    const ofSpec = known.get(spec) ?? new Map<string, Made>();
    known.set(spec, ofSpec);
    const made = ofSpec.get(resourceKey) ?? make(spec, findResource(spec, resourceKey));
    ofSpec.set(resourceKey, made);
    return made;
  };
}

/** Names of the input fields that an expression reads; `all` if it may read any. */
export function fieldsIn(text: string): 'all' | readonly string[] {
  const parsed = parseExpression(text);
  if (!parsed.ok || wholeInput.test(text)) return 'all';
  return referencesOf(text).flatMap(({ kind, name }) => (kind === 'field' ? [name] : []));
}

/** Ways to reach a field without its name: `$`, `$$`, wildcards. */
const wholeInput = /\$(?![A-Za-z_])|\*/;

/** The values of the mentioned params; `null` for one that is not set. */
export function valuesOf(names: Names, params: JsonObject): JsonObject {
  if (names.has(null)) return params;
  const named = [...names].filter((name) => name !== null);
  return Object.fromEntries(named.map((name) => [name, params[name] ?? null]));
}

/** First parts of the names that the expressions in a text read, such as `page` of `page.size`. */
export function rootsIn(form: ExpressionPlace['form'], located: Located): ReadonlySet<string> {
  const texts = expressionsAt(form, located, parseExpression);
  return new Set(texts.flatMap((text) => referencesOf(text).map(({ name }) => name)));
}

export const textsWithin = (spec: ConnectorSpec, isPlace: (at: string) => boolean): readonly string[] =>
  expressionPlaces(spec)
    .filter(({ at }) => isPlace(at))
    .flatMap(({ at, form }) => valuesAt(spec, at).flatMap((located) => expressionsAt(form, located, parseExpression)));

function withDependencies({ lookups }: ConnectorSpec, names: readonly (string | null)[]): readonly Lookup[] {
  if (names.includes(null)) return lookups;
  const byName = new Map(lookups.map((lookup) => [lookup.assignTo, lookup]));
  const wanted = new Set<string>();
  const want = (name: string): void => {
    const lookup = byName.get(name);
    if (!lookup || wanted.has(name)) return;
    wanted.add(name);
    for (const needed of dependenciesOf(lookup, 'lookup')) want(needed);
  };
  for (const name of names) if (name !== null) want(name);
  return lookups.filter(({ assignTo }) => wanted.has(assignTo));
}

/** Empty for a text that does not parse; all of `params` and `each` for one too large to walk. */
const referencesOf = (text: string): readonly Reference[] =>
  referencesIn(text, parseExpression) ??
  ['params', 'each'].map((name) => ({ kind: 'variable', name, member: null }) as const);

const membersOf = (references: readonly Reference[], root: string): Names =>
  new Set(references.flatMap(({ name, member }) => (name === root ? [member] : [])));

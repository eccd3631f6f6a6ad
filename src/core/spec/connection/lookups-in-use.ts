import { parseExpression } from '../../expressions/expression.ts';
import { valuesAt } from '../check/document-paths.ts';
import { expressionPlaces } from '../check/expression-places.ts';
import { expressionsAt } from '../check/expressions.ts';
import { dependenciesOf, lookupReferences } from '../check/step-dependencies.ts';
import type { Lookup } from '../schema/lookup-schema.ts';
import type { ConnectorSpec } from '../schema/spec-schema.ts';

/** Lookups that a resource needs, directly or indirectly, in the order of the spec. */
export function lookupsInUse(spec: ConnectorSpec, resourceKey: string): readonly Lookup[] {
  if (spec.lookups.length === 0) return [];
  const named = namesRead(spec, resourceKey);
  if (named.has(null)) return spec.lookups;
  const wanted = new Set<string>();
  const want = (lookup: Lookup | undefined): void => {
    if (!lookup || wanted.has(lookup.assignTo)) return;
    wanted.add(lookup.assignTo);
    for (const name of dependenciesOf(lookup, 'lookup')) want(byName.get(name));
  };
  const byName = new Map(spec.lookups.map((lookup) => [lookup.assignTo, lookup]));
  for (const name of named) if (name !== null) want(byName.get(name));
  return spec.lookups.filter(({ assignTo }) => wanted.has(assignTo));
}

/** Names read by the resource or by settings that all requests share; `null` among them means any. */
function namesRead(spec: ConnectorSpec, resourceKey: string): ReadonlySet<string | null> {
  const index = spec.resources.findIndex(({ key }) => key === resourceKey);
  const resource = spec.resources[index];
  const texts = expressionPlaces(spec)
    .filter(({ at }) => at.startsWith('http.') || at.startsWith(`resources.${index}.`))
    .flatMap(({ at, form }) => valuesAt(spec, at).flatMap((located) => expressionsAt(form, located, parseExpression)));
  const declared = resource ? [resource.changeDetection.lookups, ...resource.enrich.map((step) => step.dependsOn)] : [];
  return new Set([...declared.flat(), ...texts.flatMap((text) => lookupReferences(text, parseExpression))]);
}

import { parseExpression } from '../../expressions/expression.ts';
import type { ParseExpression } from '../../expressions/expression-parser.ts';
import { knownFunctions } from '../../expressions/jsonata-functions.ts';
import { referencesIn } from '../../expressions/references.ts';
import type { Enrichment, Lookup } from '../schema/lookup-schema.ts';
import { type Located, valuesAt } from './document-paths.ts';
import { expressionsAt } from './expressions.ts';

/** A lookup runs once per run, an enrichment per record. */
export type StepKind = 'lookup' | 'enrichment';

/** Expressions evaluated before or while a step runs, with the form of the text there. */
const expressions: Readonly<
  Record<StepKind, readonly (readonly [pattern: string, form: 'expression' | 'templates'])[]>
> = {
  lookup: [
    ['request', 'templates'],
    ['keyBy', 'expression'],
    ['value', 'expression'],
  ],
  enrichment: [
    ['key', 'expression'],
    ['when', 'expression'],
    ['request', 'templates'],
  ],
};

/** Names that a step waits for, declared or read by its expressions; some may not exist. */
export function dependenciesOf(step: Lookup | Enrichment, kind: StepKind): readonly string[] {
  const declared = 'dependsOn' in step ? step.dependsOn : [];
  return [...new Set([...declared, ...inferredDependencies({ path: '', value: step }, kind, parseExpression)])];
}

export function inferredDependencies(step: Located, kind: StepKind, parse: ParseExpression): readonly string[] {
  const texts = expressions[kind].flatMap(([pattern, form]) =>
    valuesAt(step.value, pattern).flatMap((located) => expressionsAt(form, located, parse)),
  );
  const names = texts.flatMap((text) => lookupReferences(text, parse)).filter((name) => name !== null);
  return [...new Set(names)];
}

/**
 * Lookups that an expression reads, as `$lookups.x`, `lookups.x` or `$x`; `null` among them means all, or one by a
 * computed name. Empty for a text that does not parse or nests too deeply.
 */
export function lookupReferences(text: string, parse: ParseExpression): readonly (string | null)[] {
  return (referencesIn(text, parse) ?? []).flatMap(({ kind, name, member }) => {
    if (name === 'lookups') return [member];
    return kind === 'variable' && !isOther(name) ? [name] : [];
  });
}

const isOther = (name: string): boolean => knownFunctions.has(name) || ['params', 'each', 'run'].includes(name);

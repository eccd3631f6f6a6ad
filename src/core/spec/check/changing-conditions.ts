/**
 * Conditions whose result changes while their record does not, where only changed records are read again. Versions
 * published before such a rule still run.
 */
import { type Issue, issueIf, schemaIssue } from '../../errors.ts';
import type { ParseExpression } from '../../expressions/expression-parser.ts';
import { expressionReferences, type Reference } from '../../expressions/references.ts';
import { isJsonObject } from '../../json/is-json-object.ts';
import { type Located, valuesAt } from './document-paths.ts';
import { expressionPlaces } from './expression-places.ts';
import { expressionsAt } from './expressions.ts';
import { lookupReferences } from './step-dependencies.ts';

export const checkChangingConditions = (document: unknown, parse: ParseExpression): readonly Issue[] =>
  valuesAt(document, 'resources.*').flatMap((resource) => [
    ...clockIssues(resource, parse),
    ...tableIssues(document, resource, parse),
  ]);

/** Records that would meet the condition later are not read again then. */
function clockIssues(resource: Located, parse: ParseExpression): readonly Issue[] {
  if (!readsChanges(resource)) return [];
  return ['filter', 'deletes.when'].flatMap((name) =>
    valuesAt(resource.value, name).flatMap(({ value }) =>
      issueIf(
        isOfTime(value, resource, parse),
        `${resource.path}.${name}`,
        'the result changes with the time, and only changed records are read again: deliver the field and compare it in the destination, or read all records (no `incremental`, no conditional requests)',
      ),
    ),
  );
}

const readsChanges = (resource: Located): boolean =>
  valuesAt(resource.value, 'incremental').length > 0 ||
  valuesAt(resource.value, 'request.cache.mode').some(({ value }) => value === 'conditional');

/** Whether an expression, or a field added by one that it names, reads the clock or the run. */
function isOfTime(text: unknown, resource: Located, parse: ParseExpression): boolean {
  const references = referencesIn(text, parse);
  const added = references
    .filter(({ kind }) => kind === 'field')
    .flatMap(({ name }) => valuesAt(resource.value, `response.addFields.${name}`));
  return [...references, ...added.flatMap(({ value }) => referencesIn(value, parse).map(asVariable))].some(
    ({ kind, name }) => kind === 'variable' && ['now', 'millis', 'run'].includes(name),
  );
}

/** Added fields name the run without `$`. */
const asVariable = (reference: Reference): Reference => ({ ...reference, kind: 'variable' });

function referencesIn(text: unknown, parse: ParseExpression): readonly Reference[] {
  const parsed = typeof text === 'string' ? parse(text) : null;
  if (!parsed?.ok) return [];
  try {
    return expressionReferences(parsed.ast);
  } catch (error) {
    if (error instanceof RangeError) return [];
    throw error;
  }
}

/** Children of unchanged parents are not requested again after a change of the table. */
function tableIssues(document: unknown, resource: Located, parse: ParseExpression): readonly Issue[] {
  const selectsChanged = valuesAt(resource.value, 'forEach.*.select').some(({ value }) => value === 'changed');
  const tables = valuesAt(document, 'lookups.*').flatMap(({ value }) =>
    isJsonObject(value) && value['kind'] === 'request' ? [value['assignTo']] : [],
  );
  if (!selectsChanged || tables.length === 0) return [];
  const readsTable = (text: string) =>
    lookupReferences(text, parse).some((name) => name === null || tables.includes(name));
  const deciding = ['filter', 'deletes', 'request', 'job'].map((name) => `${resource.path}.${name}`);
  return expressionPlaces(document)
    .filter(({ at }) => deciding.some((place) => at === place || at.startsWith(`${place}.`)))
    .flatMap(({ at, form }) =>
      valuesAt(document, at).filter((located) => expressionsAt(form, located, parse).some(readsTable)),
    )
    .map(({ path }) =>
      schemaIssue(
        path,
        'a table from the API decides which records are read, and children of unchanged parents are not read again after its change: use `select: all`',
      ),
    );
}

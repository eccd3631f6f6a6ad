/**
 * Conditions whose result changes while their record does not, where only changed records are read again. Versions
 * published before such a rule still run.
 */
import { type Issue, issueIf, schemaIssue } from '../../errors.ts';
import { type AstNode, isNode } from '../../expressions/expression.ts';
import type { ParseExpression } from '../../expressions/expression-parser.ts';
import { type Reference, referencesIn } from '../../expressions/references.ts';
import { isJsonObject } from '../../json/is-json-object.ts';
import { isWithin } from '../connection/mentions.ts';
import { asksByTables, choosingPlaces } from '../connection/shape-values.ts';
import { type Located, valuesAt } from './document-paths.ts';
import { expressionPlaces } from './expression-places.ts';
import { expressionsAt } from './expressions.ts';
import { lookupReferences } from './step-dependencies.ts';

export const checkChangingConditions = (document: unknown, parse: ParseExpression): readonly Issue[] => [
  ...valuesAt(document, 'resources.*').flatMap((resource) => clockIssues(resource, parse)),
  ...tableIssues(document, parse),
];

/** Records that would meet the condition later are not read again then. */
function clockIssues({ path, value: resource }: Located, parse: ParseExpression): readonly Issue[] {
  if (!readsChanges(resource)) return [];
  return ['filter', 'deletes.when'].flatMap((name) =>
    valuesAt(resource, name).flatMap(({ value }) =>
      issueIf(
        isOfTime(value, resource, parse),
        `${path}.${name}`,
        'the result changes with the time, and only changed records are read again: deliver the field and compare it in the destination, or read all records (no `incremental`, no `select: changed`, no conditional requests)',
      ),
    ),
  );
}

/** The opposite of `fetchesAll`, of a resource as it is written; but a `ttl` only delays a request. */
const readsChanges = (resource: unknown): boolean =>
  valuesAt(resource, 'incremental').length > 0 ||
  selectsChanged(resource) ||
  (has(resource, 'request.cache.mode', 'conditional') && !has(resource, 'target.mode', 'replace'));

const selectsChanged = (resource: unknown): boolean => has(resource, 'forEach.*.select', 'changed');

const has = (resource: unknown, pattern: string, wanted: string): boolean =>
  valuesAt(resource, pattern).some(({ value }) => value === wanted);

/** Whether an expression, or one that makes a field that it names, reads the clock or the run. */
function isOfTime(text: unknown, resource: unknown, parse: ParseExpression): boolean {
  const read = referencesOf(text, parse);
  const fields = read.flatMap(({ kind, name }) => (kind === 'field' ? [name] : []));
  const added = fields.flatMap((name) => valuesAt(resource, `response.addFields.${name}`));
  const mapped = valuesAt(resource, 'response.map').flatMap(({ value }) =>
    referencesOf(value, parse, (map) => partsMaking(fields, map)),
  );
  return [...read, ...mapped, ...added.flatMap(({ value }) => referencesOf(value, parse).map(asVariable))].some(
    ({ kind, name }) => kind === 'variable' && ['now', 'millis', 'run'].includes(name),
  );
}

/** Added fields name the run without `$`. */
const asVariable = (reference: Reference): Reference => ({ ...reference, kind: 'variable' });

/** The values of some fields in an object of named fields; all of any other expression. */
function partsMaking(fields: readonly string[], map: AstNode): readonly AstNode[] {
  const { type, value, lhs } = map;
  if (type !== 'unary' || value !== '{' || !Array.isArray(lhs)) return [map];
  return lhs.flatMap(([name, made]: readonly AstNode[]) =>
    isNode(made) && (name?.type !== 'string' || fields.includes(String(name.value))) ? [made] : [],
  );
}

const referencesOf = (text: unknown, ...how: readonly [ParseExpression, ((ast: AstNode) => readonly AstNode[])?]) =>
  typeof text === 'string' ? (referencesIn(text, ...how) ?? []) : [];

/** Children of unchanged parents are not requested again after a change of the table. */
function tableIssues(document: unknown, parse: ParseExpression): readonly Issue[] {
  const tables = valuesAt(document, 'lookups.*').flatMap(({ value }) =>
    isJsonObject(value) && value['kind'] === 'request' ? [value['assignTo']] : [],
  );
  if (tables.length === 0) return [];
  const deciding = valuesAt(document, 'resources.*').flatMap(({ value }, index) =>
    selectsChanged(value) ? decidingPlaces(value, index) : [],
  );
  const readsTable = (text: string) =>
    lookupReferences(text, parse).some((name) => name === null || tables.includes(name));
  return expressionPlaces(document)
    .filter(({ at }) => deciding.some((isDeciding) => isDeciding(at)))
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

const decidingPlaces = (resource: unknown, index: number): readonly ((at: string) => boolean)[] => [
  isWithin([...choosingPlaces(resource, index), `resources.${index}.deletes.key`, `resources.${index}.deletes.at`]),
  asksByTables(index),
];

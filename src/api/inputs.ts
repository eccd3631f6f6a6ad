import * as v from 'valibot';
import { type Issue, invalid, notFound, schemaIssue } from '../core/errors.ts';
import { type IdPrefix, idPattern } from '../core/ids.ts';
import { isJsonObject } from '../core/json/is-json-object.ts';
import { issuesOf } from '../core/resources/issue-words.ts';
import { HttpRejection } from './errors.ts';

/** For examples only. */
export const exampleId = (prefix: IdPrefix): string => `${prefix}_01kaemm0dce7xb1k4c1m1f2p3q`;

/** Another form is a 404 of the noun, before any query. */
export const pathId = (prefix: IdPrefix, noun: string) =>
  v.pipe(v.string(), v.regex(idPattern(prefix), noun), v.examples([exampleId(prefix)]));

export const idParams = (prefix: IdPrefix, noun: string) => v.object({ id: pathId(prefix, noun) });

/** For path parameters that are not ids; another form is a 404 of the noun. */
export const nameParam = (form: v.GenericSchema<string>, { noun, example }: { noun: string; example: string }) =>
  v.pipe(
    v.string(),
    v.check((value) => v.is(form, value), noun),
    v.examples([example]),
  );

export const bodyId = (prefix: IdPrefix) =>
  v.pipe(
    v.string(),
    v.regex(idPattern(prefix), `expected an id such as ${exampleId(prefix)}`),
    v.examples([exampleId(prefix)]),
  );

export const DisplayText = v.pipe(
  v.string(),
  v.maxLength(200),
  v.regex(/\S/, 'expected at least one character that is not white space'),
);

/** Indexed, so its bytes are bounded. */
export const NaturalKey = v.pipe(v.string(), v.minLength(1), v.maxBytes(200));

/** Pairs of names for one field; each route declares one and accepts both. */
const synonyms: readonly (readonly [string, string])[] = [
  ['resource', 'resourceKey'],
  ['specVersion', 'toVersion'],
];

const otherName = (name: string): string =>
  synonyms.find((pair) => pair.includes(name))?.find((one) => one !== name) ?? name;

function named(schema: v.GenericSchema, fields: unknown): unknown {
  if (!isJsonObject(fields) || !('entries' in schema) || !isJsonObject(schema.entries)) return fields;
  const { entries } = schema;
  const renamed = Object.keys(entries).flatMap((own) => {
    const other = otherName(own);
    return !Object.hasOwn(entries, other) && Object.hasOwn(fields, other) ? [[own, fields[other]]] : [];
  });
  return { ...Object.fromEntries(renamed), ...fields };
}

const givenTwice = (schema: v.GenericSchema, fields: unknown): readonly Issue[] =>
  isJsonObject(fields) && 'entries' in schema && isJsonObject(schema.entries)
    ? Object.keys(schema.entries).flatMap((own) => {
        const other = otherName(own);
        const isBoth = other !== own && Object.hasOwn(fields, own) && Object.hasOwn(fields, other);
        return isBoth ? [schemaIssue(own, `is given as ${other}, too: send one of them`)] : [];
      })
    : [];

/** Drops unknown fields. Throws a validation error with issues. */
export function checkBody<S extends v.GenericSchema>(schema: S, document: unknown): v.InferOutput<S> {
  // valibot accepts an array as an object.
  if (schema.type === 'object' && Array.isArray(document)) {
    throw invalid('The body is not valid.', [schemaIssue('', 'expected an object')]);
  }
  const twice = givenTwice(schema, document);
  const result = v.safeParse(schema, named(schema, document));
  if (result.success && twice.length === 0) return result.output;
  throw invalid('The body is not valid.', [...twice, ...(result.issues ? issuesOf(result.issues) : [])]);
}

/** Decoded values by parameter, in the order given. */
export type Query = Readonly<Record<string, readonly string[]>>;

/**
 * Ignores unknown parameters. A missing or empty required one is an error without a code, and a repeated one is
 * refused: either value could be wrong.
 */
export function checkQuery<S extends v.GenericSchema>(schema: S, query: Query): v.InferOutput<S> {
  const single = Object.fromEntries(Object.entries(query).map(([name, [first]]) => [name, first]));
  const result = v.safeParse(schema, named(schema, single));
  const missing = result.issues?.find(isMissing);
  if (missing) throw missingParameter(v.getDotPath(missing) ?? '');
  const issues = result.success ? repeatedIn(query, result.output) : issuesOf(result.issues);
  if (!result.success || issues.length > 0) throw invalid('The query is not valid.', issues);
  return result.output;
}

export const missingParameter = (name: string): HttpRejection =>
  new HttpRejection('unreadable', `The query parameter ${name} is required.`);

const isMissing = ({ type, input }: v.BaseIssue<unknown>): boolean => input === undefined || type === 'non_empty';

const repeatedIn = (query: Query, known: unknown): readonly Issue[] =>
  Object.keys(known ?? {})
    .filter((name) => [...new Set([name, otherName(name)])].flatMap((one) => query[one] ?? []).length > 1)
    .map((path) => schemaIssue(path, 'is given more than once: send it once'));

/** An invalid parameter names nothing that exists: 404. */
export function checkParams<S extends v.GenericSchema>(
  schema: S,
  params: Readonly<Record<string, string>>,
): v.InferOutput<S> {
  const result = v.safeParse(schema, params);
  if (result.success) return result.output;
  throw notFound(result.issues[0].message);
}

import * as v from 'valibot';
import { type Issue, invalid, notFound } from '../core/errors.ts';
import { type IdPrefix, isId } from '../core/ids.ts';
import { HttpRefusal } from './errors.ts';

/** The path parameter `id` of a kind; anything that has not the form of its ids is a 404 before any query. */
export const idParams = (prefix: IdPrefix, noun: string) =>
  v.object({
    id: v.pipe(
      v.string(),
      v.check((value) => isId(prefix, value), noun),
      v.examples([`${prefix}_…`]),
    ),
  });

/** An id inside a body: in another form it is a validation issue. */
export const bodyId = (prefix: IdPrefix) =>
  v.pipe(
    v.string(),
    v.check((value) => isId(prefix, value), `expected an id such as ${prefix}_01kaemm0dce7xb1k4c1m1f2p3q`),
  );

/** Text a human reads. */
export const DisplayText = v.pipe(v.string(), v.minLength(1), v.maxLength(200));

/** A natural key from outside: indexed, so its bytes are bounded. */
export const NaturalKey = v.pipe(v.string(), v.minLength(1), v.maxBytes(200));

/** The body in the form of the schema, unknown fields dropped. Throws a validation error that names every fault. */
export function checkBody<S extends v.GenericSchema>(schema: S, document: unknown): v.InferOutput<S> {
  // valibot takes an array for an object.
  if (schema.type === 'object' && Array.isArray(document)) {
    throw invalid('The body is not valid.', [{ code: 'schema', path: '', message: 'expected Object' }]);
  }
  const result = v.safeParse(schema, document);
  if (result.success) return result.output;
  throw invalid('The body is not valid.', result.issues.map(toIssue));
}

/** The query in the form of the schema. A required parameter that is missing is an error without a code. */
export function checkQuery<S extends v.GenericSchema>(
  schema: S,
  query: Readonly<Record<string, string>>,
): v.InferOutput<S> {
  const result = v.safeParse(schema, query);
  if (result.success) return result.output;
  const issues = result.issues.map(toIssue);
  const missing = issues.find(({ path }) => !Object.hasOwn(query, path));
  if (missing) throw new HttpRefusal(400, `The query parameter ${missing.path} is required.`, { code: null });
  throw invalid('The query is not valid.', issues);
}

/** The path parameters in the form of the schema. One that fails names nothing that exists: 404. */
export function checkParams<S extends v.GenericSchema>(
  schema: S,
  params: Readonly<Record<string, string>>,
): v.InferOutput<S> {
  const result = v.safeParse(schema, params);
  if (result.success) return result.output;
  throw notFound(result.issues[0].message);
}

/** A valibot issue in the words of the interface, without the value received. */
function toIssue(issue: v.BaseIssue<unknown>): Issue {
  return { code: 'schema', path: v.getDotPath(issue) ?? '', message: messageOf(issue) };
}

function messageOf(issue: v.BaseIssue<unknown>): string {
  if (issue.kind === 'schema' && issue.received === 'undefined') return 'is required';
  if (issue.expected === null) return issue.message;
  return /length|bytes/.test(issue.type) ? `expected a length ${issue.expected}` : `expected ${issue.expected}`;
}

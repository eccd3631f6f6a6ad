import type { Issue } from '../errors.ts';
import { inDocumentOrder, valuesAt } from './document-paths.ts';
import { parseExpression } from './expression.ts';
import { isJsonObject } from './json.ts';
import { expressionReferences } from './references.ts';
import type { ConnectorSpec } from './schema.ts';

/**
 * Every part that a valid spec uses and this version of the engine does not execute yet; empty when all of it
 * runs. A part that is left out or set to its neutral value is not used.
 */
export function partsNotExecuted(spec: ConnectorSpec): readonly Issue[] {
  const issues = parts.flatMap(({ at, isUsed = isGiven, what }): readonly Issue[] =>
    patterns(at)
      .flatMap((pattern) => valuesAt(spec, pattern))
      .filter(({ value }) => isUsed(value))
      .map(({ path, value }) => ({ code: 'schema', path, message: message(what, value) })),
  );
  return inDocumentOrder(spec, issues);
}

interface Part {
  /** Pattern of `valuesAt` in the parsed spec; a name in braces stands for every such block. */
  readonly at: string;
  /** Whether the value makes use of the part; absent: it is there at all. */
  readonly isUsed?: (value: unknown) => boolean;
  /** The name of the part in the message; `{}` is the value. */
  readonly what: string;
}

const isGiven = (): boolean => true;
const isTrue = (value: unknown): boolean => value === true;
const oneOf =
  (...values: readonly unknown[]) =>
  (value: unknown): boolean =>
    values.includes(value);
const otherThan =
  (...values: readonly unknown[]) =>
  (value: unknown): boolean =>
    !values.includes(value);

/** What is not executed, in the order of the format. Delete a line when the engine learns its part. */
const parts: readonly Part[] = [
  { at: '{auth}.kind', isUsed: oneOf('oauth2_authorization_code'), what: 'auth kind {}' },
  { at: '{rateLimit}.headers', what: 'reading the rate limit from response headers' },
  { at: '{rateLimit}.scope', isUsed: otherThan('connection'), what: 'rate limit scope {}' },
  { at: '{errors}.action', isUsed: oneOf('skip_partition'), what: 'error action {}' },
  { at: 'lookups.*', what: 'a lookup' },
  { at: 'resources.*.dependsOn.*', what: 'dependsOn' },
  { at: 'resources.*.forEach.*', what: 'forEach' },
  { at: '{request}.body.graphql', what: 'a graphql body' },
  { at: '{request}.rateLimit', what: "a request's own rate limit" },
  { at: '{request}.cache.mode', isUsed: otherThan('none'), what: 'request cache {}' },
  {
    at: 'resources.*.response.addFields.*',
    isUsed: (value) => typeof value === 'string' && !isConstantField(value),
    what: 'a field from anything but params and run',
  },
  { at: 'resources.*.pagination.overlap', isUsed: otherThan(0), what: 'overlapping offset pages' },
  { at: 'resources.*.pagination.onExpired.action', isUsed: otherThan('fail'), what: 'onExpired {}' },
  { at: 'resources.*.incremental.kind', isUsed: otherThan('cursor'), what: 'incremental kind {}' },
  { at: 'resources.*.incremental.cursor.format', what: 'a cursor format' },
  { at: 'resources.*.incremental.cursor.timezone', isUsed: otherThan('UTC'), what: 'a cursor time zone' },
  { at: 'resources.*.incremental.window.overlap', isUsed: otherThan('PT0S'), what: 'overlapping windows' },
  { at: 'resources.*.incremental.resultCap', what: 'resultCap' },
  { at: 'resources.*.incremental.retention', what: 'retention' },
  { at: 'resources.*.incremental.clientFilter', isUsed: isTrue, what: 'clientFilter' },
  { at: 'resources.*.changeDetection.mode', isUsed: otherThan('hash', 'none'), what: 'change detection by {}' },
  { at: 'resources.*.changeDetection.lookups.*', what: 'lookups in change detection' },
  { at: 'resources.*.enrich.*', what: 'an enrichment' },
  { at: 'resources.*.validate.coerce', isUsed: isTrue, what: 'coerce' },
  { at: 'resources.*.validate.maxInvalidRatio', isUsed: otherThan(1), what: 'maxInvalidRatio' },
  { at: 'resources.*.deletes.mode', isUsed: otherThan('none'), what: 'deletes by {}' },
  { at: 'resources.*.target.mode', isUsed: otherThan('upsert'), what: 'target mode {}' },
  { at: 'resources.*.limits.maxRecords', what: 'maxRecords' },
  { at: 'resources.*.limits.maxDurationSeconds', isUsed: otherThan(21_600), what: 'another maxDurationSeconds' },
  { at: 'destination.kind', isUsed: otherThan('postgres'), what: 'destination {}' },
  { at: 'tests.*', what: 'a test in the spec' },
];

/** Where the shared blocks stand; those inside parts that are refused as a whole are not repeated. */
const blocks: ReadonlyMap<string, readonly string[]> = new Map([
  ['{auth}', ['auth', 'resources.*.auth']],
  ['{request}', ['resources.*.request', 'auth.login', 'resources.*.auth.login']],
  ['{errors}', ['http.errors.*', 'resources.*.errors.*']],
  ['{rateLimit}', ['http.rateLimit']],
]);

function patterns(at: string): readonly string[] {
  const [block = '', ...rest] = at.split('.');
  return blocks.get(block)?.map((place) => [place, ...rest].join('.')) ?? [at];
}

function isConstantField(expression: string): boolean {
  const parsed = parseExpression(expression);
  return (
    parsed.ok && expressionReferences(parsed.ast).every(({ kind, name }) => kind === 'variable' || constants.has(name))
  );
}

const constants: ReadonlySet<string> = new Set(['params', 'run']);

const message = (what: string, value: unknown): string =>
  `${what.replace('{}', isJsonObject(value) ? '' : String(value))} is not executed by this version yet; remove it or wait for a version that does`;

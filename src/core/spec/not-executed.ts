import type { Issue } from '../errors.ts';
import { inDocumentOrder, valuesAt } from './document-paths.ts';
import { isJsonObject } from './json.ts';
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
const otherThan =
  (...values: readonly unknown[]) =>
  (value: unknown): boolean =>
    !values.includes(value);

/** What is not executed, in the order of the format. Delete a line when the engine learns its part. */
const parts: readonly Part[] = [
  { at: '{login}.rateLimit', what: "a login's own rate limit" },
  { at: '{aside}.cache.mode', isUsed: otherThan('none'), what: 'request cache {} outside the read of a resource' },
];

/** Where the shared blocks stand; those inside parts that are refused as a whole are not repeated. */
const blocks: ReadonlyMap<string, readonly string[]> = new Map([
  ['{login}', ['auth.login', 'resources.*.auth.login']],
  [
    '{aside}',
    [
      'lookups.*.request',
      'resources.*.enrich.*.request',
      'resources.*.deletes.request',
      'auth.login',
      'resources.*.auth.login',
    ],
  ],
]);

function patterns(at: string): readonly string[] {
  const [block = '', ...rest] = at.split('.');
  return blocks.get(block)?.map((place) => [place, ...rest].join('.')) ?? [at];
}

const message = (what: string, value: unknown): string =>
  `${what.replace('{}', isJsonObject(value) ? '' : String(value))} is not executed by this version yet; remove it or wait for a version that does`;

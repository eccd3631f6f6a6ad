import { type Issue, schemaIssue } from '../../errors.ts';
import { documentGate } from '../../json/document-gate.ts';
import { isJsonObject } from '../../json/is-json-object.ts';
import { mergeOverrides } from '../../json/merge-patch.ts';
import { checkSpec, type SpecCheck } from '../check/check.ts';
import { valuesAt } from '../check/document-paths.ts';
import { checkSizes } from '../check/sizes.ts';

/**
 * The spec that a run executes: the pinned document with the connection's overrides, if any, merged in and checked
 * again. Overrides may not change `metadata`, the kind of `auth`, or which params are secret. An invalid result has the
 * issues of the merged document. Never throws.
 */
export function effectiveSpec(document: unknown, overrides: unknown): SpecCheck {
  if (overrides === null || overrides === undefined) return checkSpec(document, published);
  const gate = documentGate(overrides) ?? (isJsonObject(overrides) ? null : schemaIssue('', 'expected an object'));
  if (gate) return { valid: false, issues: [gate] };
  const sizes = checkSizes(overrides);
  if (sizes.length > 0) return { valid: false, issues: sizes };
  const merged = mergeOverrides(document, overrides);
  const refused = protectedFields(document, merged, overrides);
  return refused.length > 0 ? { valid: false, issues: refused } : checkSpec(merged, published);
}

const published = { isPublished: true } as const;

function protectedFields(document: unknown, merged: unknown, overrides: unknown): readonly Issue[] {
  const issues: Issue[] = [];
  if (isJsonObject(overrides) && Object.hasOwn(overrides, 'metadata')) {
    issues.push(schemaIssue('metadata', 'overrides cannot change `metadata`'));
  }
  if (authKind(merged) !== authKind(document)) {
    issues.push(schemaIssue('auth.kind', 'overrides cannot change the kind of `auth`; publish another spec version'));
  }
  return [...issues, ...secretChanges(document, merged)];
}

const authKind = (document: unknown): unknown => valuesAt(document, 'auth.kind')[0]?.value ?? 'none';

function secretChanges(document: unknown, merged: unknown): readonly Issue[] {
  const before = new Map(params(document).map(({ param }) => [param['key'], param['secret'] === true]));
  return params(merged)
    .filter(({ param }) => (before.get(param['key']) ?? param['secret'] === true) !== (param['secret'] === true))
    .map(({ path }) => schemaIssue(`${path}.secret`, 'overrides cannot change which params are secret'));
}

const params = (document: unknown) =>
  valuesAt(document, 'connectionParams.*').flatMap(({ path, value }) =>
    isJsonObject(value) ? [{ path, param: value }] : [],
  );

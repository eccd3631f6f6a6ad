import * as v from 'valibot';
import type { Issue } from '../errors.ts';
import { ConnectorSpec } from './schema.ts';

/** The document in its parsed form, or what is missing, mistyped or unknown in it. */
export type Structure =
  | { readonly ok: true; readonly spec: ConnectorSpec }
  | { readonly ok: false; readonly issues: readonly Issue[] };

/** Judges each property on its own against the format; messages never repeat a value. */
export function checkStructure(document: unknown): Structure {
  const result = v.safeParse(ConnectorSpec, document);
  if (result.success) return { ok: true, spec: result.output };
  return {
    ok: false,
    issues: result.issues.map((issue) => ({ code: 'schema', path: pathOf(issue), message: messageOf(issue) })),
  };
}

const pathOf = (issue: v.BaseIssue<unknown>): string => issue.path?.map((item) => String(item.key)).join('.') ?? '';

/** Messages given in the schema are ours; valibot's own start with `Invalid` and may quote the value. */
function messageOf(issue: v.BaseIssue<unknown>): string {
  if (!issue.message.startsWith('Invalid')) return issue.message;
  if (issue.kind !== 'schema')
    return `expected ${issue.expected ?? 'another value'} (${issue.type.replaceAll('_', ' ')})`;
  const expected = expectation(issue);
  return issue.received === 'undefined' ? 'required' : `expected ${expected}`;
}

function expectation({ type, expected }: v.BaseIssue<unknown>): string {
  if (type === 'array') return 'a list';
  const isWholeObject = expected === 'Object';
  if (type === 'record' || isWholeObject) return 'an object';
  return type.endsWith('object') ? 'a value' : (expected ?? 'a value').replaceAll(/[()]/g, '');
}

import * as v from 'valibot';
import { type Issue, schemaIssue } from '../../errors.ts';
import { issueWords } from '../../resources/issue-words.ts';
import { ConnectorSpec } from '../schema/spec-schema.ts';

export type Structure =
  | { readonly ok: true; readonly spec: ConnectorSpec }
  | { readonly ok: false; readonly issues: readonly Issue[] };

/** Checks each property by itself against the format; messages never repeat a value. */
export function checkStructure(document: unknown): Structure {
  const result = v.safeParse(ConnectorSpec, document);
  if (result.success) return { ok: true, spec: result.output };
  return {
    ok: false,
    issues: result.issues.map((issue) => schemaIssue(pathOf(issue), issueWords(issue))),
  };
}

const pathOf = (issue: v.BaseIssue<unknown>): string => issue.path?.map((item) => String(item.key)).join('.') ?? '';

import { HttpRejection, statusOf } from '../../../api/errors.ts';
import { AppError, type Issue, schemaIssue } from '../../../core/errors.ts';
import type { ConnectionParam } from '../../../core/spec/schema/param-schema.ts';
import { fieldId } from '../../parts/form.ts';
import { type Content, type Html, html } from '../../parts/html.ts';
import { counted } from '../../parts/numbers.ts';
import { valueName } from './sent-values.ts';

/** Labels of the fields that every connection has, by their names. */
export const nameLabels: Readonly<Record<string, string>> = {
  workspaceId: 'Workspace',
  displayName: 'Name',
  externalCustomerId: 'Your id of the customer',
  errorAfterMinutes: 'Minutes of refusals before it is in error',
};

/** Mistakes of a form and conflicts as issues; throws everything else. */
export function issuesIn(error: unknown): readonly Issue[] {
  if (error instanceof HttpRejection && error.status === statusOf.validation) return [schemaIssue('', error.message)];
  if (error instanceof AppError && (error.code === 'validation' || error.code === 'conflict'))
    return error.issues ?? [schemaIssue('', error.message)];
  throw error;
}

/** The field that an issue is about; `undefined` if it is about none. */
const nameAt = ({ path }: Issue, names: Iterable<string>): string | undefined =>
  [...names].find((name) => path === name || path.startsWith(`${name}.`));

/** As a sentence below its field. */
export function errorAt(issues: readonly Issue[], name: string): string | undefined {
  const issue = issues.find((one) => nameAt(one, [name]) !== undefined);
  return issue && sentence(issue.message);
}

const sentence = (words: string): string => {
  const begun = words.charAt(0).toUpperCase() + words.slice(1);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
};

/** All issues, each with a link to its field. */
export function issueSummary(issues: readonly Issue[], connectionParams: readonly ConnectionParam[]): Html {
  const labels = new Map([
    ...Object.entries(nameLabels),
    ...connectionParams.map((param) => [valueName(param), param.label ?? param.key] as const),
  ]);
  const line = (issue: Issue): Content => {
    const name = nameAt(issue, labels.keys());
    if (name !== undefined) return html`<a href="#${fieldId(name)}">${labels.get(name)}</a>: ${issue.message}`;
    return issue.path === '' ? issue.message : html`<code>${issue.path}</code> ${issue.message}`;
  };
  return html`<div class="notice bad"><p class="strong">${counted(issues.length, 'thing')} to correct</p>
    <ul>${issues.map((issue) => html`<li>${line(issue)}</li>`)}</ul></div>`;
}

import { AppError } from '../../errors.ts';
import { textIssue } from '../../json/json-limits.ts';

/**
 * A text of a response that becomes part of a position. Throws `source_rejected` when no database can hold it; the
 * message contains `what`, its name, and `setting`, the place where the spec says to read it.
 */
export function positionText(text: string, what: string, setting: string): string {
  const issue = textIssue(text);
  if (issue === null) return text;
  const advice = `Let ${setting} select another value, or ask the provider of the API to send valid text.`;
  throw new AppError('source_rejected', `${what} ${issue}, so the read cannot continue from it. ${advice}`);
}

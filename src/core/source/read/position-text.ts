import { AppError } from '../../errors.ts';
import { textIssue } from '../../json/json-limits.ts';

/** UTF-16 units of a text in a position. Runs keep theirs for ever; the longest tokens of known APIs have some thousand. */
const lengthMax = 65_536;

/**
 * A text of a response that becomes part of a position. Throws `source_rejected` when no database can hold it or it is
 * too long; the message contains `what`, its name, and `setting`, the place where the spec says to read it.
 */
export function positionText(text: string, what: string, setting: string): string {
  const issue = text.length > lengthMax ? `has more than ${lengthMax} characters` : textIssue(text);
  if (issue === null) return text;
  const advice = `Let ${setting} select another value, or ask the provider of the API for valid text.`;
  throw new AppError('source_rejected', `${what} ${issue}, so the read cannot continue from it. ${advice}`);
}

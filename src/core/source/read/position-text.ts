import { AppError } from '../../errors.ts';
import { textIssue } from '../../json/json-limits.ts';

/** In UTF-16 units: runs keep positions forever, and the longest tokens of known APIs have some thousand. */
const lengthMax = 65_536;

/**
 * Throws `source_rejected` if the text is too long or no database can hold it. The message contains `what`, its name,
 * and `setting`, the place in the spec that selects it.
 */
export function positionText(text: string, what: string, setting: string): string {
  const issue = text.length > lengthMax ? `has more than ${lengthMax} characters` : textIssue(text);
  if (issue === null) return text;
  const advice = `Let ${setting} select another value, or ask the provider of the API for valid text.`;
  throw new AppError('source_rejected', `${what} ${issue}, so the read cannot continue from it. ${advice}`);
}

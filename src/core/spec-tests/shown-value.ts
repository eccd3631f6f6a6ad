import { cutText } from '../json/cut-text.ts';

/** Characters of one value in a message: both sides stay in sight. */
const shownMax = 140;

/** A value as a message about a test has it. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length <= shownMax ? text : `${cutText(text, shownMax)}…`;
}

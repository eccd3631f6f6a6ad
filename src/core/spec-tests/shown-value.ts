import { cutText } from '../json/cut-text.ts';

/** Characters of one value in a message, so that both sides stay in view. */
const shownMax = 140;

export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length <= shownMax ? text : `${cutText(text, shownMax)}…`;
}

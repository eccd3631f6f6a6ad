/**
 * `text` in a form that PostgreSQL's text and jsonb accept: NUL becomes the visible `\u0000`, half a surrogate pair
 * `\ud800`.
 */
export function storableText(text: string): string {
  if (!text.includes('\0') && text.isWellFormed()) return text;
  return text.replace(/\0|\p{Surrogate}/gu, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

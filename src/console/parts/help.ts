import { readFileSync } from 'node:fs';
import { type Html, html } from './html.ts';

const page = readFileSync(new URL('../../../docs/connectors/errors.md', import.meta.url), 'utf8');

/** From the page about errors that the service also serves. */
const texts: ReadonlyMap<string, string> = new Map(
  page
    .split(/^### /m)
    .slice(1)
    .map((part) => {
      const [code = '', ...lines] = part.split('\n');
      const text = lines.join('\n').split(/^## /m)[0] ?? '';
      return [code.trim(), text.trim().replace(/^\d{3}\. /, '')];
    }),
);

/** `null` if the page does not name the code. */
export function helpFor(code: string): Html | null {
  const text = texts.get(code);
  return text === undefined ? null : paragraphs(text);
}

/** Markdown of our own pages, as far as they use it in running text. */
export const paragraphs = (text: string): Html =>
  html`${text.split(/\n{2,}/).map((paragraph) => html`<p>${inline(paragraph)}</p>`)}`;

/** Code between backticks, and links as plain words; other Markdown does not occur there. */
const inline = (text: string): readonly (string | Html)[] =>
  text
    .replace(/\[([^\]]+)\]\([^)]*\)/g, '$1')
    .split('`')
    .map((part, index) => (index % 2 === 0 ? part : html`<code>${part}</code>`));

import { type Html, html } from './html.ts';

/** Characters of a document that a page shows; the API has the rest. */
const shownMax = 100_000;

/** A text as it is; long lines wrap. A very long one is cut, and says so. */
export const code = (text: string, label: string): Html =>
  html`<pre tabindex="0" role="region" aria-label="${label}"><code>${text.slice(0, shownMax)}</code></pre>${
    text.length > shownMax ? html`<p class="hint">Cut after ${shownMax.toLocaleString('en')} characters.</p>` : ''
  }`;

/** Any value as indented JSON. */
export const json = (value: unknown, label: string): Html => code(JSON.stringify(value, null, 2) ?? 'undefined', label);

/** A text that may be JSON: indented if it is, as it is otherwise. */
export function maybeJson(text: string, label: string): Html {
  try {
    return json(JSON.parse(text), label);
  } catch {
    return code(text, label);
  }
}

/** Something that is shown on demand. The id keeps it open while the page refreshes itself. */
export const details = (id: string, summary: string | Html, content: Html): Html =>
  html`<details id="${id}"><summary>${summary}</summary>${content}</details>`;

import { type Html, html } from './html.ts';

/** Longer documents are cut; the API has the rest. */
const shownMax = 100_000;

export const code = (text: string, label: string): Html =>
  html`<pre tabindex="0" role="region" aria-label="${label}"><code>${text.slice(0, shownMax)}</code></pre>${
    text.length > shownMax ? html`<p class="hint">Cut after ${shownMax.toLocaleString('en')} characters.</p>` : ''
  }`;

export const json = (value: unknown, label: string): Html => code(JSON.stringify(value, null, 2) ?? 'undefined', label);

export function maybeJson(text: string, label: string): Html {
  try {
    return json(JSON.parse(text), label);
  } catch {
    return code(text, label);
  }
}

/** The id keeps it open when the page refreshes. */
export const details = (id: string, summary: string | Html, content: Html, isOpen = false): Html =>
  html`<details id="${id}" ${isOpen ? html`open` : ''}><summary>${summary}</summary>${content}</details>`;

/** An id, with a button that copies it. Outside of parts that are replaced, because its button keeps the focus. */
export const idText = (id: string): Html =>
  html`<span class="copied"><code id="${id}">${id}</code> <button type="button" class="copy" data-copy="${id}" hidden>Copy</button></span>`;

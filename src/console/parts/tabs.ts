import { type Html, html } from './html.ts';

interface Tab {
  readonly label: string;
  readonly href: string;
}

/** Views of one thing, each a page with an address of its own. */
export const tabs = (name: string, all: readonly Tab[], current: string): Html =>
  html`<nav class="tabs" aria-label="${name}"><ul>${all.map(
    ({ label, href }) =>
      html`<li><a href="${href}" ${href === current ? html`aria-current="page"` : ''}>${label}</a></li>`,
  )}</ul></nav>`;

import { heading } from './frame.ts';
import { type Html, html } from './html.ts';

interface ShownOnce {
  readonly title: string;
  readonly values: readonly (readonly [name: string, value: string])[];
  readonly next: string;
  readonly back: string;
}

/** Values stored only as a hash or sealed: this page is the only one that shows them. */
export const shownOnce = ({ title, values, next, back }: ShownOnce): Html => html`${heading(title)}
  <p class="notice">Copy this now: it is not shown again.</p>
  <dl class="once">${values.map(
    ([name, value], index) => html`<div><dt>${name}</dt>
    <dd><code id="once-${index}">${value}</code> <button type="button" data-copy="once-${index}" hidden>Copy</button></dd></div>`,
  )}</dl>
  <p>${next}</p>
  <p class="after"><a class="button primary" href="${back}">Go on</a></p>`;

import { type Content, type Html, html } from './html.ts';

interface Column<Row> {
  readonly head: string;
  readonly cell: (row: Row) => Content;
  /** `number`: right-aligned, in figures of one width; `wide`: takes the remaining room. */
  readonly kind?: 'number' | 'wide' | 'acts';
}

interface TableOptions<Row> {
  /** Names the rows for screen readers. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  /** Shown instead of no rows. */
  readonly empty: Content;
}

/** On a narrow screen each row is a card, a layout without meaning for screen readers: roles restore it. */
export function table<Row>({ caption, columns, rows, empty }: TableOptions<Row>): Html {
  if (rows.length === 0) return html`<div class="empty">${empty}</div>`;
  return html`<table role="table">
    <caption class="unseen">${caption}</caption>
    <thead role="rowgroup"><tr role="row">${columns.map(
      ({ head, kind }) =>
        html`<th role="columnheader" scope="col" class="${kind ?? ''}">${
          kind === 'acts' ? html`<span class="unseen">${head}</span>` : head
        }</th>`,
    )}</tr></thead>
    <tbody role="rowgroup">${rows.map(
      (row) =>
        html`<tr role="row">${columns.map(
          ({ head, cell, kind }) =>
            html`<td role="cell" class="${kind ?? ''}" data-head="${head}"><div>${cell(row)}</div></td>`,
        )}</tr>`,
    )}</tbody>
  </table>`;
}

export const facts = (pairs: readonly (readonly [name: string, value: Content])[]): Html =>
  html`<dl class="facts">${pairs.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;

export const section = (heading: string, content: Content, actions: Content = null): Html => html`
  <section class="part">
    <header><h2>${heading}</h2>${actions ? html`<div class="actions">${actions}</div>` : ''}</header>
    ${content}
  </section>`;

export const nothing = (words: string, next: Content = null): Html =>
  html`<p class="strong">${words}</p>${next ? html`<p>${next}</p>` : ''}`;

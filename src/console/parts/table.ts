import { type Content, type Html, html } from './html.ts';

export interface Column<Row> {
  readonly head: string;
  readonly cell: (row: Row) => Content;
  /** `number`: right-aligned, in figures of one width; `wide`: takes the remaining room; `select`: takes none. */
  readonly kind?: 'number' | 'wide' | 'acts' | 'select';
  /**
   * On a narrow screen: in the first line of its row, as the first column is; in the second with its head before it; or left out.
   * Absent: in the second line, without its head.
   */
  readonly narrow?: 'lead' | 'named' | 'out';
}

interface TableOptions<Row> {
  /** Names the rows for screen readers. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  /** Shown instead of no rows. */
  readonly empty: Content;
}

/**
 * A table; on a narrow screen each row has two lines. A stylesheet that lays a table out otherwise takes its meaning away from
 * screen readers, so roles say it again.
 */
export function table<Row>({ caption, columns, rows, empty }: TableOptions<Row>): Html {
  if (rows.length === 0) return html`<div class="empty">${empty}</div>`;
  return html`<table role="table">
    <caption class="unseen">${caption}</caption>
    <thead role="rowgroup"><tr role="row">${columns.map(
      ({ head, kind }) =>
        html`<th role="columnheader" scope="col" class="${kind ?? ''}">${
          kind === 'acts' || kind === 'select' ? html`<span class="unseen">${head}</span>` : head
        }</th>`,
    )}</tr></thead>
    <tbody role="rowgroup">${rows.map(
      (row) =>
        html`<tr role="row">${columns.map(
          ({ head, cell, kind = '', narrow = '' }, index) =>
            html`<td role="cell" class="${kind} ${index === 0 ? 'lead' : narrow}" data-head="${head}"><div>${cell(row)}</div></td>`,
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

interface Line {
  readonly href: string;
  readonly name: string;
  readonly reason: Content;
}

/** Of a list of what needs attention. */
export const line = (state: Html, { href, name, reason }: Line): Html =>
  html`<li>${state}<a href="${href}">${name}</a><span class="muted">${reason}</span></li>`;

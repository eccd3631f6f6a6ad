import * as v from 'valibot';
import type { Page } from '../../../db/page.ts';
import { type IdPrefix, idPattern } from '../../core/ids.ts';
import { type Html, html } from './html.ts';
import { withoutNotice } from './notices.ts';

export const pageRows = 50;

/** The page starts after the row with this id. */
export const before = (prefix: IdPrefix) => ({
  before: v.optional(v.pipe(v.string(), v.regex(idPattern(prefix), 'expected the id of a row of this list'))),
});

export const pageFrom = ({ before: id }: { readonly before?: string | undefined }) => ({
  before: id ?? null,
  limit: pageRows,
});

export function pager({ next }: Pick<Page<unknown>, 'next'>, address: string): Html {
  const url = withoutNotice(new URL(address, 'http://console'));
  const isFirst = !url.searchParams.has('before');
  if (isFirst && next === null) return html``;
  const link = (id: string | null) => {
    if (id === null) url.searchParams.delete('before');
    else url.searchParams.set('before', id);
    return url.pathname + url.search;
  };
  return html`<nav class="pager" aria-label="Pages of the list">
    ${isFirst ? '' : html`<a href="${link(null)}" class="button">Newest</a>`}
    ${next === null ? html`<span class="muted">No older rows</span>` : html`<a href="${link(next)}" class="button" rel="next">Older</a>`}
  </nav>`;
}

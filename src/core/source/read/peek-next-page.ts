import { compilePlainPath } from '../../expressions/plain-path.ts';
import type { HttpResponse } from '../../model/http.ts';
import type { PagePosition } from '../../model/read-position.ts';
import type { Pagination } from '../../spec/schema/pagination-schema.ts';
import type { Source } from '../source.ts';
import { budgetLeft } from './budget-left.ts';
import { heavyBytes } from './page-size.ts';
import { nextPage, type PageItems } from './paginate.ts';
import { parseEnvelope } from './parse-envelope.ts';

interface NewResponse extends Pick<PageItems, 'position' | 'resolveLink'> {
  readonly response: HttpResponse;
  readonly watermark: string | number | null;
}

/**
 * Found without reading the records; `null` if unknown, or if it should not be requested before this page is read. It
 * is only a hint: the whole response decides.
 */
export async function peekNextPage(source: Source, page: NewResponse): Promise<PagePosition | null> {
  const { resource, params } = source;
  const { pagination } = resource;
  const { response, watermark } = page;
  const next = pathToNext(pagination, resource.response.decoder);
  const isPage = response.status >= 200 && response.status < 300 && response.body.length <= heavyBytes;
  if (next === null || !isPage || budgetLeft(source, response) < 1) return null;
  try {
    const body = next.inBody ? parseEnvelope(response.body, resource.response) : undefined;
    const roots = { body, headers: response.headers, status: response.status, params, watermark };
    const read = {
      ...page,
      response: roots,
      items: [],
      total: null,
      provesEnd: false,
      overlaps: false,
      evaluate: async () => next.of(roots),
    };
    return (await nextPage(pagination, read)).position;
  } catch {
    // Reading the response will report the error.
    return null;
  }
}

/** `null` if the next page depends on the records, or on more than a path can express. */
function pathToNext(pagination: Pagination, decoder: Source['resource']['response']['decoder']): PathToNext | null {
  const isLinked = pagination.kind === 'link_header';
  if (!isLinked && pagination.kind !== 'cursor' && pagination.kind !== 'next_url') return null;
  const { stopWhen, emptyPage, onRepeat } = pagination;
  if (stopWhen !== undefined || emptyPage !== 'continue' || onRepeat !== 'fail') return null;
  if (isLinked) return { inBody: false, of: () => undefined };
  const path = decoder === 'json' ? compilePlainPath(pagination.next) : null;
  return path === null ? null : { inBody: true, of: path };
}

interface PathToNext {
  /** False for a header. */
  readonly inBody: boolean;
  readonly of: (roots: unknown) => unknown;
}

import { compilePlainPath } from '../../expressions/plain-path.ts';
import type { HttpAnswer } from '../../model/http.ts';
import type { PagePosition } from '../../model/read-position.ts';
import type { Pagination } from '../../spec/schema/pagination-schema.ts';
import type { Source } from '../source.ts';
import { budgetLeft } from './budget-left.ts';
import { heavyBytes } from './page-size.ts';
import { nextPage, type PageItems } from './paginate.ts';
import { withoutList } from './parse-envelope.ts';

/** An answer that nobody has judged or decoded yet. */
interface NewAnswer extends Pick<PageItems, 'position' | 'resolveLink'> {
  readonly answer: HttpAnswer;
  /** As requests carry it. */
  readonly watermark: string | number | null;
}

/**
 * Where the window seems to go on after an answer, found without a look at its records. Null: that cannot be told, or
 * the next page should not be asked for before this one is read. A hint: what the whole answer says decides.
 */
export async function earlyNext(source: Source, page: NewAnswer): Promise<PagePosition | null> {
  const { resource, params } = source;
  const { pagination } = resource;
  const { answer, watermark } = page;
  const next = pathToNext(pagination, resource.response.decoder);
  const isPage = answer.status >= 200 && answer.status < 300 && answer.body.length <= heavyBytes;
  if (next === null || !isPage || budgetLeft(source, answer) < 1) return null;
  try {
    const body = next.inBody ? withoutList(answer.body, resource.response) : undefined;
    const roots = { body, headers: answer.headers, status: answer.status, params, watermark };
    const read = { ...page, answer: roots, items: [], evaluate: async () => next.of(roots) };
    return (await nextPage(pagination, read))?.position ?? null;
  } catch {
    // Whatever is wrong with the answer, reading it will say so.
    return null;
  }
}

/** Null: whether there is a next page, or which, depends on the records or on more than a path can say. */
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
  /** False: it is a header. */
  readonly inBody: boolean;
  readonly of: (roots: unknown) => unknown;
}

/** The validators of the customer's API: a list has another ETag after each change of its records, of `parts` each group. */
import type { HttpRequest } from '../../src/core/model/http.ts';
import { type Counts, count } from './effects.ts';
import { type ApiResponse, groupOf } from './records.ts';
import type { Scheduler } from './scheduler.ts';

/** The part of the API that knows what has changed. */
export interface Etags {
  /** A record of a list is new, other or deleted. */
  renew(list: string, id: string): void;
  /** The page, or 304 when nothing has changed since the response that the request names. */
  respond(request: HttpRequest, pageOf: (url: URL) => ApiResponse): ApiResponse;
}

interface EtagsOptions {
  readonly scheduler: Scheduler;
  readonly counts: Counts;
  readonly isCalm: () => boolean;
}

/** Nothing has changed yet. */
export function createEtags({ scheduler, counts, isCalm }: EtagsOptions): Etags {
  const changes = new Map<string, number>();
  return {
    renew(list, id) {
      const key = list === 'parts' ? groupOf(id) : list;
      changes.set(key, (changes.get(key) ?? 0) + 1);
    },
    respond({ url, headers }, pageOf) {
      const [, list = '', group = list] = url.pathname.split('/');
      const etag = `"${changes.get(group) ?? 0}"`;
      if (headers['if-none-match'] === etag) {
        count(counts, 'responses without a change');
        return { status: 304, body: {} };
      }
      // One of its servers knows of no validators.
      const isBare = !isCalm() && scheduler.random.chance(0.05);
      return { ...pageOf(url), headers: isBare ? {} : { etag } };
    },
  };
}

/** The validators of the customer's API: each page of a list has an ETag of its own, made of what it shows. */
import { createHash } from 'node:crypto';
import type { HttpRequest } from '../../src/core/model/http.ts';
import { type Counts, count } from './effects.ts';
import type { ApiResponse } from './records.ts';
import type { Scheduler } from './scheduler.ts';

/** The page, or 304 when it shows what the request names. */
export type RespondWithEtag = (request: HttpRequest, pageOf: (url: URL) => ApiResponse) => ApiResponse;

interface EtagsOptions {
  readonly scheduler: Scheduler;
  readonly counts: Counts;
  readonly isCalm: () => boolean;
}

/** See {@link RespondWithEtag}. */
export function createEtags({ scheduler, counts, isCalm }: EtagsOptions): RespondWithEtag {
  return ({ url, headers }, pageOf) => {
    const page = pageOf(url);
    const etag = `"${createHash('sha256').update(JSON.stringify(page.body)).digest('base64url').slice(0, 12)}"`;
    if (headers['if-none-match'] === etag) {
      count(counts, 'responses without a change');
      return { status: 304, body: {} };
    }
    // One of its servers knows of no validators.
    const isBare = !isCalm() && scheduler.random.chance(0.05);
    return { ...page, headers: isBare ? {} : { etag } };
  };
}

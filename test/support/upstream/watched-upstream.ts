import { pageOf } from '../sync/sync.ts';
import type { UpstreamOptions } from './upstream.ts';

/** Tells a test which page is being answered. */
export interface PageWatch {
  /** For {@link UpstreamOptions.answer}: it sees each request and answers none. */
  readonly answer: NonNullable<UpstreamOptions['answer']>;
  /** Resolves right after the answer to this page of a collection, or a later one, was written. */
  answered(collection: string, page: number): Promise<void>;
}

/** A watch over pages of `perPage` records. */
export function watchPages(perPage: number): PageWatch {
  const waiting = new Set<(collection: string, page: number) => boolean>();
  return {
    answer: ({ url }) => {
      const collection = url.split(/[/?]/)[2] ?? '';
      for (const isOver of waiting) if (isOver(collection, pageOf(url, perPage))) waiting.delete(isOver);
      return undefined;
    },
    answered: (collection, page) =>
      new Promise((done) => {
        waiting.add((asked, number) => {
          const isOver = asked === collection && number >= page;
          // The answer is written in the same turn of the event loop, after this call.
          if (isOver) setImmediate(done);
          return isOver;
        });
      }),
  };
}

import { pageOf } from '../sync/sync.ts';
import type { UpstreamOptions } from './upstream.ts';

/** Tells a test of which page the response is being sent. */
export interface PageWatch {
  /** For {@link UpstreamOptions.response}: it sees each request and responds to none. */
  readonly reply: NonNullable<UpstreamOptions['reply']>;
  /** Resolves right after the response to this page of a collection, or a later one, was written. */
  replied(collection: string, page: number): Promise<void>;
}

/** A watch over pages of `perPage` records. */
export function watchPages(perPage: number): PageWatch {
  const waiting = new Set<(collection: string, page: number) => boolean>();
  return {
    reply: ({ url }) => {
      const collection = url.split(/[/?]/)[2] ?? '';
      for (const isOver of waiting) if (isOver(collection, pageOf(url, perPage))) waiting.delete(isOver);
      return undefined;
    },
    replied: (collection, page) =>
      new Promise((done) => {
        waiting.add((asked, number) => {
          const isOver = asked === collection && number >= page;
          // The response is written in the same turn of the event loop, after this call.
          if (isOver) setImmediate(done);
          return isOver;
        });
      }),
  };
}

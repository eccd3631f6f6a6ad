import type { Upstream, UpstreamRequest } from './upstream.ts';

/** Tells what the fake API was asked below `/{name}` since the last call with this name, oldest first. */
export function createAsked(upstream: () => Upstream): (name: string) => readonly URL[] {
  const seen = new Map<string, number>();
  return (name) => {
    const all = upstream()
      .journal.map(({ url }) => new URL(url, 'http://upstream'))
      .filter(({ pathname }) => pathname.split('/')[1] === name);
    const news = all.slice(seen.get(name) ?? 0);
    seen.set(name, all.length);
    return news;
  };
}

/** The segments of a path behind the first. */
export const partsOf = ({ url }: Pick<UpstreamRequest, 'url'>): string =>
  (url.split('?')[0] ?? '').split('/').slice(2).join('/');

/** As {@link createAsked}, the {@link partsOf} of what was asked; sorted, as partitions are asked for several at once. */
export function createPartsAsked(upstream: () => Upstream): (name: string) => readonly string[] {
  const asked = createAsked(upstream);
  return (name) =>
    asked(name)
      .map(({ pathname }) => partsOf({ url: pathname }))
      .toSorted();
}

import type { Upstream } from './upstream.ts';

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

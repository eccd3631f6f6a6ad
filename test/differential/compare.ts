import { canonicalJson } from '../../src/core/json/canonical-json.ts';
import type { Read } from './read-by-spec.ts';

/** What differs between two reads of a stream; null: nothing. */
export interface Differences {
  readonly requests: string | null;
  readonly records: string | null;
}

/** Compares the requests as a multiset, and the records as a set: the CDK gives a record once per window that has it. */
export function compareReads(cdk: Read, spec: Read, hidden: ReadonlySet<string>): Differences {
  const [theirs, ours] = [cdk, spec].map((read) =>
    countsOf(read.requests.filter(isNoLogin).map((request) => requestText(request, hidden))),
  );
  const [their, our] = [cdk, spec].map((read) => new Map(read.records.map((record) => [canonicalJson(record), 1])));
  return {
    requests: firstDifference(theirs ?? new Map(), ours ?? new Map()),
    records: firstDifference(their ?? new Map(), our ?? new Map()),
  };
}

const isNoLogin = ({ method, url }: Read['requests'][number]): boolean =>
  method !== 'POST' || !/token|oauth|login|auth\b|session/i.test(new URL(url).pathname);

/** Method, path, sorted query and body, each in one form. Parameters of the authentication are left out. */
function requestText({ method, url, body }: Read['requests'][number], hidden: ReadonlySet<string>): string {
  const address = new URL(url);
  const query = [...address.searchParams]
    .filter(([name]) => !hidden.has(name))
    .map(([name, value]) => `${name}=${value}`);
  return [
    method,
    address.host + decoded(address.pathname),
    [...new Set(query)].toSorted().join('&'),
    bodyText(body),
  ].join(' ');
}

const decoded = (path: string): string => decodeURIComponent(path).replace(/\/+$/, '');

function bodyText(body: string | null): string {
  if (body === null || body === '') return '';
  try {
    return canonicalJson(JSON.parse(body));
  } catch {
    return [...new URLSearchParams(body)]
      .map(([name, value]) => `${name}=${value}`)
      .toSorted()
      .join('&');
  }
}

function countsOf(items: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1);
  return counts;
}

function firstDifference(cdk: ReadonlyMap<string, number>, spec: ReadonlyMap<string, number>): string | null {
  const missing = [...cdk].filter(([item, count]) => (spec.get(item) ?? 0) < count).map(([item]) => item);
  const added = [...spec].filter(([item, count]) => (cdk.get(item) ?? 0) < count).map(([item]) => item);
  if (missing.length === 0 && added.length === 0) return null;
  const cut = (items: readonly string[]): string => (items[0] ?? 'nothing').slice(0, 500);
  return `only the CDK (${missing.length}): ${cut(missing)} | only the spec (${added.length}): ${cut(added)}`;
}

import { canonicalJson } from '../json/canonical-json.ts';
import type { MemoryRun } from '../memory-run/memory-run.ts';
import type { RequestPattern, SpecTest } from '../spec/schema/test-schema.ts';
import { matchesRequest } from './match-request.ts';
import type { MockedRequest } from './mock-api.ts';
import { shown } from './shown-value.ts';

/** An expectation that did not hold. */
export interface Mismatch {
  /** The path below `expect`, dotted. */
  readonly at: string;
  readonly message: string;
}

type Expectation = SpecTest['expect'];

/** What a run is checked by. */
export interface Checked {
  readonly run: MemoryRun;
  readonly requests: readonly MockedRequest[];
}

/**
 * Everything in which a run differs from what is expected, in the order of the format. A failure that nobody expects is
 * the only one: all else follows from it.
 */
export function checkRun(expected: Expectation, { run, requests }: Checked): readonly Mismatch[] {
  if (run.failure && expected.status !== 'failed') {
    return [{ at: 'status', message: `the run failed: ${run.failure.message}` }];
  }
  return [
    ...differing('status', expected.status, run.status),
    ...Object.entries(expected.stats ?? {}).flatMap(([name, count]) =>
      differing(`stats.${name}`, count, run.stats[name as keyof typeof run.stats]),
    ),
    ...differing('watermarkAfter', expected.watermarkAfter, run.watermarkAfter),
    ...differingItems('delivered', expected.delivered, run.delivered, { noun: 'row', fits: hasFields }),
    ...differing('deleted', expected.deleted?.toSorted(), run.deleted.toSorted()),
    ...differing('quarantined', expected.quarantined?.toSorted(), run.quarantined.toSorted()),
    ...differingRequests(expected.requests, requests),
  ];
}

/** The differences between two values. Nothing is expected of what is undefined. */
function differing(at: string, expected: unknown, found: unknown): readonly Mismatch[] {
  if (expected === undefined || canonicalJson(expected) === canonicalJson(found)) return [];
  return [{ at, message: `expected ${shown(expected)}, got ${shown(found)}` }];
}

interface Comparison<Expected, Found> {
  readonly noun: string;
  readonly fits: (expected: Expected, found: Found) => boolean;
  /** What of an item is shown; all of it unless given. */
  readonly show?: (found: Found) => unknown;
}

/** The first item that differs, or how many there are too many or too few. */
function differingItems<Expected, Found>(
  at: string,
  expected: readonly Expected[] | undefined,
  found: readonly Found[],
  { noun, fits, show = (item) => item }: Comparison<Expected, Found>,
): readonly Mismatch[] {
  if (expected === undefined) return [];
  for (const [index, item] of expected.entries()) {
    const counterpart = found[index];
    if (counterpart === undefined || fits(item, counterpart)) continue;
    return [{ at, message: `${noun} ${index + 1}: expected ${shown(item)}, got ${shown(show(counterpart))}` }];
  }
  const count = (items: readonly unknown[]) => `${items.length} ${noun}${items.length === 1 ? '' : 's'}`;
  if (expected.length === found.length) return [];
  return [{ at, message: `expected ${count(expected)}, got ${count(found)}` }];
}

const hasFields = (expected: Readonly<Record<string, unknown>>, row: Readonly<Record<string, unknown>>): boolean =>
  Object.entries(expected).every(
    ([name, value]) => Object.hasOwn(row, name) && canonicalJson(row[name]) === canonicalJson(value),
  );

function differingRequests(expected: Expectation['requests'], requests: readonly MockedRequest[]): readonly Mismatch[] {
  if (typeof expected === 'number') return differing('requests', expected, requests.length);
  return differingItems<RequestPattern, MockedRequest>('requests', expected, requests, {
    noun: 'request',
    fits: (pattern, { request, basePath }) => matchesRequest(pattern, request, basePath),
    show: ({ request: { method, url, body } }) => ({ method, path: url.pathname + url.search, ...(body && { body }) }),
  });
}

import { canonicalJson } from '../json/canonical-json.ts';
import type { MemoryRun } from '../memory-run/memory-run.ts';
import type { RequestPattern, SpecTest } from '../spec/schema/test-schema.ts';
import { matchesRequest } from './match-request.ts';
import type { MockedRequest } from './mock-api.ts';
import { shown } from './shown-value.ts';

export interface Mismatch {
  /** Dotted path below `expect` in results of {@link checkRun}, elsewhere below the test. */
  readonly at: string;
  readonly message: string;
}

type Expectation = SpecTest['expect'];

export interface Checked {
  readonly run: MemoryRun;
  readonly requests: readonly MockedRequest[];
}

/**
 * Every difference between a run and its expectation, in the order of the format. An unexpected failure is the only
 * one, because all else follows from it.
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

/** Differences between two values; an undefined expectation always holds. */
function differing(at: string, expected: unknown, found: unknown): readonly Mismatch[] {
  if (expected === undefined || canonicalJson(expected) === canonicalJson(found)) return [];
  return [{ at, message: `expected ${shown(expected)}, got ${shown(found)}` }];
}

interface Comparison<Expected, Found> {
  readonly noun: string;
  readonly fits: (expected: Expected, found: Found) => boolean;
  /** The part of an item to show; all of it by default. */
  readonly show?: (found: Found) => unknown;
}

/** The first item that differs, or the difference in number. */
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

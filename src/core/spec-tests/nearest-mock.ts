import type { HttpRequest } from '../model/http.ts';
import type { RequestPattern } from '../spec/schema/test-schema.ts';
import { type Difference, differencesFrom, isForAddress } from './match-request.ts';
import { shown } from './shown-value.ts';

export interface NoMatch {
  /** Index of the nearest mock in `mocks`; `null` if none has the method and path. */
  readonly mock: number | null;
  readonly reason: string;
}

interface Candidate {
  readonly pattern: RequestPattern;
}

/** Mocks named in a message; more would hide the first. */
const namedMax = 3;

/**
 * Finds the mock nearest to an unmatched request, and their differences. Only mocks of its method and path are
 * compared; the fewest differences come first.
 */
export function nearestMock(mocks: readonly Candidate[], request: HttpRequest, basePath: string): NoMatch {
  const near = mocks
    .map(({ pattern }, index) => ({ index, pattern }))
    .filter(({ pattern }) => isForAddress(pattern, request, basePath))
    .map(({ index, pattern }) => ({ index, differences: differencesFrom(pattern, request) }))
    .toSorted((one, other) => one.differences.length - other.differences.length);
  const [nearest] = near;
  if (!nearest) return { mock: null, reason: 'add one for it' };
  const mock = nearest.index;
  if (nearest.differences.length === 0) return { mock, reason: `mocks.${mock} is used up (times); add one` };
  const named = near.slice(0, namedMax).flatMap(({ index, differences: [first] }) => {
    return first ? [`mocks.${index} wants ${explained(first)}`] : [];
  });
  return { mock, reason: `${named.join('; ')}. Correct it, or add one` };
}

function explained({ at, wanted, found }: Difference): string {
  const isCredential = at.toLowerCase() === 'headers.authorization' && found === undefined;
  const why = isCredential ? ' (a test neither logs in nor sends credentials)' : '';
  return `${at} ${shown(wanted)}, the request has ${shown(found)}${why}`;
}

import type { HttpRequest } from '../model/http.ts';
import type { RequestPattern } from '../spec/schema/test-schema.ts';
import { type Difference, differencesFrom, isForAddress } from './match-request.ts';
import { shown } from './shown-value.ts';

/** Why no mock matches a request. */
export interface NoMatch {
  /** The mock that comes nearest, by its place in `mocks`; null: none has the method and the path. */
  readonly mock: number | null;
  /** What the nearest mocks want, and what to do. */
  readonly reason: string;
}

interface Candidate {
  readonly pattern: RequestPattern;
}

/** Mocks that a message names: more would hide the first. */
const namedMax = 3;

/**
 * The mock that is nearest to a request that no mock matches, and what differs. Only mocks of its method and path are
 * compared; the one with the fewest differences comes first.
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

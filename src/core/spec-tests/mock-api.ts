import { AppError } from '../errors.ts';
import type { HttpRequest, HttpResponse } from '../model/http.ts';
import type { Mock } from '../spec/schema/test-schema.ts';
import { matchesRequest } from './match-request.ts';
import { type NoMatch, nearestMock } from './nearest-mock.ts';

export interface MockApi {
  /**
   * Returns the response of the first matching mock that is not used up; throws `egress_blocked` without one, so no
   * request leaves.
   */
  response(request: HttpRequest, basePath: string): HttpResponse;
  /** All requests, retries included, without credentials. */
  readonly requests: readonly MockedRequest[];
  /** The first request that no mock matches; `null` if all matched. */
  readonly noResponse: (NoMatch & { /** Its method and path. */ readonly request: string }) | null;
  /** Positions of unused mocks, from 0. */
  readonly unused: readonly number[];
}

export interface MockedRequest {
  readonly request: HttpRequest;
  readonly basePath: string;
}

/** Bytes of responses per test: mocks can respond again and again. */
const responseBytesMax = 20_000_000;
/** Characters of URLs and bodies per test, which are all kept; each request counts at least the minimum. */
const requestCharsMax = 20_000_000;
const requestCharsMin = 500;

export function createMockApi(mocks: readonly Mock[], now: Date): MockApi {
  const left = mocks.map(({ request, respond, times = Number.POSITIVE_INFINITY }) => ({
    pattern: request,
    times,
    response: responseOf(respond, now),
    isUsed: false,
  }));
  const requests: MockedRequest[] = [];
  let noResponse: MockApi['noResponse'] = null;
  let responseBytes = 0;
  let requestChars = 0;
  return {
    response(request, basePath) {
      requests.push({ request, basePath });
      requestChars += requestCharsMin + request.url.href.length + (request.body?.length ?? 0);
      if (requestChars > requestCharsMax) throw tooMuch('The requests of a test have', requestCharsMax);
      const mock = left.find(({ pattern, times }) => times > 0 && matchesRequest(pattern, request, basePath));
      if (!mock) {
        const line = `${request.method} ${request.url.pathname}`;
        noResponse ??= { request: line, ...nearestMock(left, request, basePath) };
        throw new AppError('egress_blocked', `No mock matches ${line}.`);
      }
      mock.times -= 1;
      mock.isUsed = true;
      responseBytes += mock.response.body.length;
      if (responseBytes > responseBytesMax) throw tooMuch('The mocks of a test respond with', responseBytesMax);
      return { ...mock.response, url: request.url };
    },
    requests,
    get noResponse() {
      return noResponse;
    },
    get unused() {
      return left.flatMap(({ isUsed }, index) => (isUsed ? [] : [index]));
    },
  };
}

const tooMuch = (what: string, max: number): AppError =>
  new AppError('source_rejected', `${what} more than ${max / 1_000_000} MB. Let the read end earlier.`);

function responseOf({ status, headers, body }: Mock['respond'], now: Date): Omit<HttpResponse, 'url'> {
  const isText = body === undefined || typeof body === 'string';
  const given = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  return {
    status,
    headers: {
      date: now.toUTCString(),
      ...(isText ? {} : { 'content-type': 'application/json' }),
      ...Object.fromEntries(given),
    },
    body: new TextEncoder().encode(isText ? (body ?? '') : JSON.stringify(body)),
  };
}

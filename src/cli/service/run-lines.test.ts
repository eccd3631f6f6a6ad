import { expect, it } from 'vitest';
import { callCells } from './run-lines.ts';

const call = {
  id: 'call_1',
  runId: 'run_1',
  sequence: 6,
  method: 'GET',
  url: 'https://api.acme.example/items?page=6',
  statusCode: 200,
  errorCode: null,
  durationMs: 12,
  attempt: 1,
  cacheHit: false,
  reqHeadersRedacted: {},
  reqBodyRedacted: null,
  respHeaders: {},
  respBodyTruncated: null,
};

it.each([
  ['the status of a response', {}, '200'],
  ['the status of a response that could not be used', { errorCode: 'source_rejected' }, '200'],
  ['why there is no response', { statusCode: null, errorCode: 'timeout' }, 'timeout'],
  ['that a page requested ahead was given up', { statusCode: null, errorCode: 'canceled' }, 'canceled'],
])('a request is shown with %s', (_what, changes, shown) => {
  expect(callCells({ ...call, ...changes })).toEqual(['6', 'GET', shown, '12 ms', call.url]);
});

it('a request that the cache saved is shown as cached, and not as one without a response', () => {
  expect(callCells({ ...call, statusCode: null, cacheHit: true })).toEqual([
    '6',
    'GET',
    'cache',
    '12 ms',
    `${call.url}  (cached)`,
  ]);
});

import type { NewCall } from '../../../db/queries/runs/calls.ts';

/** A call of a run for the log: a request with a response. */
export const newCall = (parts: Pick<NewCall, 'runId' | 'sequence'>): NewCall => ({
  method: 'GET',
  url: 'https://api.acme.example/items',
  statusCode: 200,
  durationMs: 12,
  attempt: 1,
  cacheHit: false,
  reqHeadersRedacted: { accept: 'application/json' },
  reqBodyRedacted: null,
  respHeaders: {},
  respBodyTruncated: '[]',
  errorCode: null,
  ...parts,
});

import { describe, expect, it } from 'vitest';
import type { HttpResponse } from '../../model/http.ts';
import { interpretResponse } from './response.ts';

const now = Date.parse('2026-01-01T00:00:00Z');
const response = (status: number, body: unknown = '', headers: HttpResponse['headers'] = {}): HttpResponse => ({
  status,
  headers,
  body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
  url: new URL('https://a.test'),
});

describe('a response', () => {
  it.each([
    response(200),
    response(204),
    response(202, '<html>'),
    response(200, 'OK', { 'content-type': 'text/plain' }),
    response(200, '"OK"', { 'content-type': 'application/json' }),
    response(200, { ok: true }),
    response(200, '\uFEFF{"ok": true}'),
    response(200, { rejected: null }),
    response(200, [{ externalId: '1' }]),
  ])('of 2xx that names no record accepts them all', (given) => {
    expect(interpretResponse(given, now)).toEqual({ kind: 'accepted', rejections: [], isBare: true });
  });

  it('of 2xx with an empty list says that it refuses none', () => {
    expect(interpretResponse(response(200, { rejected: [] }), now)).toEqual({ kind: 'accepted', rejections: [] });
  });

  it('names the records that it refuses, and why', () => {
    const rejected = [
      { externalId: '1', code: 'bad_email', message: 'no @' },
      { externalId: '2', retryable: true },
      { externalId: '3', message: 'x'.repeat(1000) },
      { externalId: 4, message: ['no text'] },
    ];
    expect(interpretResponse(response(200, { rejected }), now)).toEqual({
      kind: 'accepted',
      rejections: [
        { externalId: '1', message: 'Refused by the receiver: bad_email: no @', retryable: false },
        { externalId: '2', message: 'Refused by the receiver: it gave no reason', retryable: true },
        { externalId: '3', message: `Refused by the receiver: ${'x'.repeat(500)}`, retryable: false },
        { externalId: '4', message: 'Refused by the receiver: it gave no reason', retryable: false },
      ],
    });
  });

  it.each([
    ['a list of bare ids', response(200, { rejected: ['1'] })],
    ['an object', response(200, { rejected: { 1: 'no' } })],
    ['a text', response(200, { rejected: '1' })],
    ['an entry under another name', response(200, { rejected: [{ externalId: '2' }, { external_id: '1' }] })],
    ['a key as a list', response(200, { rejected: [{ externalId: ['a', 1] }] })],
    ['a number that has lost digits', response(200, '{"rejected": [{"externalId": 12345678901234567890}]}')],
    ['a body that is cut', response(200, '{"rejected": [{"externalId": "1"')],
    ['a body that is cut, with a byte order mark', response(200, '\uFEFF {"rejected": [')],
    ['no JSON though it says so', response(201, '<html>', { 'content-type': 'application/json; charset=utf-8' })],
    ['a duplicate with a refusal of no form', response(409, { duplicate: true, rejected: [7] })],
  ])('that refuses in a form that cannot be read is a failure, never an acceptance: %s', (_, given) => {
    expect(interpretResponse(given, now)).toMatchObject({ kind: 'failing', isUnreadable: true });
  });

  it.each([
    [429, '7', { kind: 'later', waitMs: 7000 }],
    [429, '0', { kind: 'later', waitMs: 1000 }],
    [503, '7200', { kind: 'later', waitMs: 3_600_000 }],
    [503, 'Thu, 01 Jan 2026 00:00:30 GMT', { kind: 'later', waitMs: 30_000 }],
    [500, '7', { kind: 'failing' }],
  ])('%d with Retry-After %s', (status, header, verdict) => {
    expect(interpretResponse(response(status, '', { 'retry-after': header }), now)).toMatchObject(verdict);
  });

  it.each([408, 425, 429, 500, 502, 503, 504])('%d is failing', (status) => {
    expect(interpretResponse(response(status), now)).toEqual({ kind: 'failing', what: `responded with ${status}` });
  });

  it.each([
    [400, { kind: 'refused' }],
    [422, { kind: 'refused' }],
    [413, { kind: 'too_large' }],
    [401, { kind: 'ended', error: { code: 'destination_login' } }],
    [403, { kind: 'ended', error: { code: 'destination_login' } }],
    [404, { kind: 'ended', error: { code: 'destination_login' } }],
    [410, { kind: 'ended', error: { code: 'destination_gone' } }],
    [302, { kind: 'ended', error: { code: 'destination_rejected', message: expect.stringContaining('redirects') } }],
    [405, { kind: 'ended', error: { code: 'destination_rejected' } }],
    [409, { kind: 'ended', error: { code: 'destination_rejected' } }],
  ])('%d', (status, verdict) => {
    expect(interpretResponse(response(status), now)).toMatchObject(verdict);
  });

  it('409 that says duplicate accepts what was accepted before', () => {
    const bare = { kind: 'accepted', rejections: [], isBare: true };
    expect(interpretResponse(response(409, { duplicate: true }), now)).toEqual(bare);
    const repeated = response(409, { duplicate: true, rejected: [{ externalId: '1', message: 'no' }] });
    expect(interpretResponse(repeated, now)).toMatchObject({ kind: 'accepted', rejections: [{ externalId: '1' }] });
  });
});

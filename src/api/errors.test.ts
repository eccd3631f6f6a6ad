import { describe, expect, it } from 'vitest';
import { AppError, invalid, notFound, type RequestErrorCode } from '../core/errors.ts';
import { HttpRejection, statusOf, toErrorResponse } from './errors.ts';

const requestId = 'req-1';
const databaseError = (code: string) => Object.assign(new Error('duplicate key (email)=(a@b.c)'), { code });

describe('error responses', () => {
  it.each<[RequestErrorCode, number]>([
    ['validation', 400],
    ['unauthorized', 401],
    ['forbidden', 403],
    ['plan_limit', 402],
    ['not_found', 404],
    ['conflict', 409],
    ['immutable', 409],
    ['rate_limited', 429],
  ])('give %s the status %i and its message', (code, status) => {
    const { body, ...response } = toErrorResponse(new AppError(code, 'what, why, what next'), requestId);
    expect(response).toMatchObject({ status, unexpected: false });
    expect(body).toEqual({ error: { code, message: 'what, why, what next' } });
    expect(statusOf[code]).toBe(status);
  });

  it('name the scheme of the credential that is missing', () => {
    const { headers } = toErrorResponse(new AppError('unauthorized', 'a key is required'), requestId);
    expect(headers).toEqual({ 'www-authenticate': 'Bearer' });
  });

  it('carry the issues of a validation error', () => {
    const issues = [{ code: 'schema', path: 'params.region', message: 'is required' }] as const;
    expect(toErrorResponse(invalid('bad', issues), requestId).body.error.issues).toEqual(issues);
  });

  it('carry no issues otherwise', () => {
    expect(toErrorResponse(notFound('Run'), requestId).body).toEqual({
      error: { code: 'not_found', message: 'Run not found.' },
    });
  });

  it.each<[string, unknown]>([
    ['a plain error', new Error('password=hunter2 at /srv/app/db.ts')],
    ['a thrown string', 'password=hunter2'],
    ['an internal error', new AppError('internal', 'password=hunter2')],
    ['a failure of a run', new AppError('destination_unavailable', 'password=hunter2')],
    ['an error of the database', databaseError('XX000')],
  ])('show nothing of %s but the request id', (_what, error) => {
    const response = toErrorResponse(error, requestId);
    expect(response).toMatchObject({ status: 500, unexpected: true });
    expect(response.body.error.code).toBe('internal');
    expect(response.body.error.message).toContain('req-1');
    expect(JSON.stringify(response.body)).not.toMatch(/hunter2|duplicate key|a@b\.c/);
  });

  it.each(['22P02', '22021', '54000', '54001', '08P01'])('turn SQLSTATE %s into 400 without its text', (code) => {
    const response = toErrorResponse(databaseError(code), requestId);
    expect(response).toMatchObject({ status: 400, body: { error: { code: 'validation' } } });
    expect(JSON.stringify(response.body)).not.toContain('a@b.c');
  });

  it('turn a unique violation into 409 without its text', () => {
    const response = toErrorResponse(databaseError('23505'), requestId);
    expect(response).toMatchObject({ status: 409, body: { error: { code: 'conflict' } } });
    expect(JSON.stringify(response.body)).not.toContain('a@b.c');
  });

  it('leave the code out where the specification has none', () => {
    const response = toErrorResponse(new HttpRejection('unreadable', 'The body is not JSON.'), requestId);
    expect(response.body).toEqual({ error: { message: 'The body is not JSON.' } });
  });
});

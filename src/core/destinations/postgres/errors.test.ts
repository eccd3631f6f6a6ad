import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { AppError } from '../../errors.ts';
import { rowIssue, toAppError } from './errors.ts';

function serverError(code: string, fields: Partial<pg.DatabaseError> = {}): pg.DatabaseError {
  const error = new pg.DatabaseError('duplicate key: (email)=(ada@example.com)', 1, 'error');
  return Object.assign(error, { code, detail: 'Failing row contains (ada@example.com)', ...fields });
}

describe('toAppError', () => {
  it.each([
    ['08006', 'destination_unavailable'],
    ['57P01', 'destination_unavailable'],
    ['57P03', 'destination_unavailable'],
    ['57014', 'destination_unavailable'],
    ['53300', 'destination_unavailable'],
    ['40P01', 'destination_unavailable'],
    ['25006', 'destination_unavailable'],
    ['XX000', 'destination_unavailable'],
    ['28P01', 'destination_login'],
    ['3D000', 'destination_rejected'],
    ['42501', 'destination_rejected'],
    ['42P01', 'destination_rejected'],
    ['0A000', 'destination_rejected'],
  ])('makes SQLSTATE %s %s, and keeps the words of the server to itself', (sqlstate, code) => {
    const error = toAppError(serverError(sqlstate));
    expect(error).toMatchObject({ code, message: expect.stringContaining(sqlstate) });
    expect(`${error.message} ${JSON.stringify(error.cause)} ${String(error.cause)}`).not.toContain('ada@');
  });

  it.each([
    ['53100', 'disk is full'],
    ['53300', 'no connection left'],
    ['25006', 'read-only'],
  ])('says of SQLSTATE %s what the server lacks: %s', (sqlstate, words) => {
    expect(toAppError(serverError(sqlstate)).message).toContain(words);
  });

  it.each(['ECONNREFUSED', 'ECONNRESET', 'ETIMEDOUT', 'EAI_AGAIN'])('makes %s destination_unavailable', (code) => {
    expect(toAppError(Object.assign(new Error(`connect ${code} 10.0.0.1`), { code }))).toMatchObject({
      code: 'destination_unavailable',
      message: expect.not.stringContaining('10.0.0.1'),
    });
  });

  it('passes an AppError as it is', () => {
    const error = new AppError('egress_blocked', 'no');
    expect(toAppError(error)).toBe(error);
  });
});

describe('a refused login', () => {
  it('has a code of its own, because the connection needs its owner and not a retry', () => {
    expect(toAppError(serverError('28P01')).code).toBe('destination_login');
    expect(toAppError(serverError('28000')).code).toBe('destination_login');
    expect(toAppError(serverError('42501')).code).toBe('destination_rejected');
  });
});

describe('rowIssue', () => {
  it('names column or constraint and never a value', () => {
    expect(rowIssue(serverError('23502', { column: 'name' }))).toBe(
      'null is not allowed in column "name" (SQLSTATE 23502)',
    );
    expect(rowIssue(serverError('23505', { constraint: 'items_email' }))).toBe(
      'refused as a duplicate by constraint "items_email" (SQLSTATE 23505)',
    );
    expect(rowIssue(serverError('22P02'))).toBe('a value does not fit its column (SQLSTATE 22P02)');
  });
});

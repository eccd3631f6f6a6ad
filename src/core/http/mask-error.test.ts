import { expect, it } from 'vitest';
import { AppError, schemaIssue } from '../errors.ts';
import { ThrottledError } from '../model/throttled.ts';
import { maskError } from './mask-error.ts';
import { createRedactor } from './redact.ts';

const secret = 'S3CR3T/0123';
const redact = (text: string) => createRedactor([secret]).values(text);

it('an error says no secret any more, in whatever part, and stays what it is', () => {
  const cause = new Error(`GET /of/${encodeURIComponent(secret)}`);
  const error = new AppError('source_rejected', `The key ${secret} is disabled.`, {
    cause,
    issues: [schemaIssue(`map.${secret}`, `not ${secret}`)],
    isFinal: true,
  });
  maskError(error, redact);
  expect(error).toMatchObject({ code: 'source_rejected', message: 'The key [redacted] is disabled.', isFinal: true });
  expect(error.issues).toEqual([schemaIssue('map.[redacted]', 'not [redacted]')]);
  expect(cause.message).toBe('GET /of/[redacted]');
  expect(`${error.stack} ${cause.stack}`).not.toMatch(/S3CR3T/);
});

it('the error that a wait ends with says none either', () => {
  const otherwise = new AppError('destination_unavailable', `It says ${secret}.`);
  maskError(new ThrottledError(1000, { otherwise }), redact);
  expect(otherwise.message).toBe('It says [redacted].');
});

it('the error of an abort, which nobody can change, is masked too', () => {
  const error = new DOMException(`${secret} is over`, 'AbortError');
  maskError(error, redact);
  expect(error).toMatchObject({ name: 'AbortError', message: '[redacted] is over' });
});

it('causes that never end do not hold it', () => {
  const error = new Error(secret);
  error.cause = error;
  maskError(error, redact);
  expect(error.message).toBe('[redacted]');
});

import { RequestError } from 'tedious';
import { describe, expect, it } from 'vitest';
import { AppError } from '../../errors.ts';
import { toAppError } from './errors.ts';
import { blamesRow, rowIssue } from './row-errors.ts';
import { isConflict, isDuplicateObject } from './server-error.ts';

function serverError(number: number, message = 'secret', severity = 16): Error {
  const error = new RequestError(message, 'EREQUEST');
  return Object.assign(error, { number, class: severity });
}

describe('what the server says of a row', () => {
  it.each([
    [
      547,
      'The UPDATE statement conflicted with the FOREIGN KEY constraint "fk_a". The conflict occurred',
      'refused by constraint "fk_a"',
    ],
    [547, 'new row for relation "items" violates check constraint "_css_next_small"', 'refused by constraint "small"'],
    [515, "Cannot insert the value NULL into column 'n', table 'x'", 'null is not allowed in column "n"'],
    [
      2601,
      "Cannot insert duplicate key row in object 'dbo.t' with unique index 'ix'. The value is (secret).",
      'refused as a duplicate by index "ix"',
    ],
    [
      2628,
      "String or binary data would be truncated in table 't', column 'c'. Truncated value: 'secret'.",
      'a text is too long in column "c"',
    ],
    [
      245,
      `Conversion failed when converting the nvarchar value 'column "secret"' to data type int.`,
      'a value does not fit its column',
    ],
    [50_000, 'secret', 'refused by a trigger'],
  ])('is reported for error %i without the value of the row', (number, message, issue) => {
    const error = serverError(number, message);
    expect(blamesRow(error)).toBe(true);
    expect(rowIssue(error)).toBe(`${issue} (error ${number})`);
  });

  it('is the first of several errors', () => {
    const error = new AggregateError([serverError(8152), serverError(3621)]);
    expect(rowIssue(error)).toBe('a text is too long (error 8152)');
  });
});

it.each([
  [1205, 'victim', isConflict],
  [1222, 'time out', isConflict],
  [33_557_097, 'canceling statement due to lock timeout', isConflict],
  [2714, 'There is already an object', isDuplicateObject],
  [33_557_097, 'schema "x" already exists', isDuplicateObject],
])('error %i (%s) is what others did meanwhile, and blames no row', (number, message, isTheirs) => {
  const error = serverError(number, message);
  expect(isTheirs(error)).toBe(true);
  expect(blamesRow(error)).toBe(false);
});

describe('the failure', () => {
  it.each([
    [serverError(208), 'destination_rejected'],
    [serverError(229), 'destination_rejected'],
    [serverError(102), 'destination_rejected'],
    [serverError(701, 'no memory', 17), 'destination_unavailable'],
    [serverError(1205), 'destination_unavailable'],
    [new Error('socket hang up'), 'destination_unavailable'],
  ])('of %o is %s, without its words', (error, code) => {
    const failure = toAppError(error);
    expect(failure).toMatchObject({ code, message: expect.not.stringContaining('secret') });
  });

  it('of the guard passes through the driver', () => {
    const blocked = new AppError('egress_blocked', 'no');
    const wrapped = new Error('Failed to connect', { cause: new Error('again', { cause: blocked }) });
    expect(toAppError(wrapped)).toBe(blocked);
  });
});

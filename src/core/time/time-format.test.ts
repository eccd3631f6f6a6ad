import { expect, it } from 'vitest';
import { timeFormat, timeFormatIssue } from './time-format.ts';

it.each([
  ['%Q', 'has the unknown directive "%Q"; use %T'],
  ['%', 'has the unknown directive "%"; use %T'],
  ['%😀', 'has the unknown directive "%😀"; use %T'],
  ['%d.%d', 'has the directive "%d" twice'],
  ['%F %d', 'has the directive "%d" twice'],
])('says what is wrong with the format %s, and refuses to use it', (format, issue) => {
  expect(timeFormatIssue(format)).toContain(issue);
  expect(() => timeFormat(format)).toThrow(`cursor.format ${issue}`);
});

it.each(['%F %T', '%d/%m/%y', '100%% of %Y, 100%%', ''])('finds nothing wrong with the format "%s"', (format) => {
  expect(timeFormatIssue(format)).toBeNull();
  expect(() => timeFormat(format)).not.toThrow();
});

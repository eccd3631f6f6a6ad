import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { invalid, issuesMax } from '../errors.ts';
import { issuesOf, issueWords } from './issue-words.ts';

const wordsOf = (schema: v.GenericSchema, value: unknown): readonly string[] =>
  v.safeParse(schema, value).issues?.map(issueWords) ?? [];

describe('the words of an issue', () => {
  it.each<[string, v.GenericSchema, unknown]>([
    ['is required', v.object({ a: v.string() }), {}],
    ['expected a string', v.string(), 7],
    ['expected a number', v.number(), 'hunter2'],
    ['expected true or false', v.boolean(), 'hunter2'],
    ['expected a list', v.array(v.string()), 'hunter2'],
    ['expected an object', v.object({}), 'hunter2'],
    ['expected an object', v.record(v.string(), v.string()), 'hunter2'],
    ['expected "eu" | "us"', v.picklist(['eu', 'us']), 'hunter2'],
    ['expected 1', v.literal(1), 'hunter2'],
    ['expected at least 1 character', v.pipe(v.string(), v.minLength(1)), ''],
    ['expected at most 3 characters', v.pipe(v.string(), v.maxLength(3)), 'hunter2'],
    ['expected at most 3 bytes', v.pipe(v.string(), v.maxBytes(3)), 'hunter2'],
    ['expected at least 2 items', v.pipe(v.array(v.string()), v.minLength(2)), ['hunter2']],
    ['expected at least 5', v.pipe(v.number(), v.minValue(5)), 1],
    ['expected at most 5', v.pipe(v.number(), v.maxValue(5)), 6],
    ['expected more than 0', v.pipe(v.number(), v.gtValue(0)), 0],
    ['expected an integer', v.pipe(v.number(), v.safeInteger()), 1.5],
    ['write it so', v.pipe(v.string(), v.regex(/^a$/, 'write it so')), 'hunter2'],
  ])('are "%s", without the value', (words, schema, value) => {
    expect(wordsOf(schema, value)).toEqual([words]);
  });
});

describe('the issues of an input', () => {
  const choices = Array.from({ length: 20 }, (_, n) => `choice-${n}`);
  const issuesIn = (schema: v.GenericSchema, value: unknown) => issuesOf(v.safeParse(schema, value).issues ?? []);

  it('are the first hundred, and one that says how many more there are', () => {
    const issues = issuesIn(v.array(v.string()), Array(99_000).fill(0));
    expect(issues).toHaveLength(issuesMax + 1);
    expect(issues[issuesMax - 1]).toEqual({ code: 'schema', path: '99', message: 'expected a string' });
    expect(issues.at(-1)).toEqual({ code: 'schema', path: '', message: 'and 98900 more issues' });
  });

  it('are all of them where no more than one is left out', () => {
    expect(issuesIn(v.array(v.string()), Array(issuesMax + 1).fill(0)).at(-1)?.path).toBe('100');
  });

  it('name many choices once', () => {
    const [first, ...others] = issuesIn(v.object({ of: v.array(v.picklist(choices)) }), { of: [0, 'choice-1', 2, 3] });
    expect(first?.message).toContain('"choice-19"');
    expect(others).toEqual([
      { code: 'schema', path: 'of.2', message: 'expected one of the choices named at of.0' },
      { code: 'schema', path: 'of.3', message: 'expected one of the choices named at of.0' },
    ]);
  });

  it('stay as they are in an error that is made of another one', () => {
    const { issues } = invalid('No.', issuesIn(v.array(v.string()), Array(500).fill(0)));
    expect(invalid('No.', issues ?? []).issues).toEqual(issues);
    expect(issues?.at(-1)?.message).toBe('and 400 more issues');
  });
});

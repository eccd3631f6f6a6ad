import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { issueWords } from './issue-words.ts';

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

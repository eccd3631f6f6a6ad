import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { boundedList, distinct } from './bounded-list.ts';
import { schemaOf } from './openapi/schemas.ts';

const issuesOf = (schema: v.GenericSchema, value: unknown) =>
  (v.safeParse(schema, value).issues ?? []).map((issue) => [v.getDotPath(issue), issue.message]);

describe('a list of a body', () => {
  const List = v.pipe(boundedList(v.picklist(['a', 'b']), 3), v.minLength(1, 'is empty'), distinct());

  it('is taken as it is', () => {
    expect(v.parse(List, ['b', 'a'])).toEqual(['b', 'a']);
  });

  it('that is too long is one issue, whatever is in it', () => {
    for (const value of [Array(99_000).fill(0), Array(99_000).fill('a'), Array.from({ length: 99_000 }, String)])
      expect(issuesOf(List, value)).toEqual([[null, 'Invalid length: Expected <=3 but received 99000']]);
  });

  it('that is too long is one issue of the object around it, beside its others', () => {
    const Body = v.object({ list: v.optional(List, []), name: v.string() });
    expect(issuesOf(Body, { list: [0, 0, 0, 0] }).map(([path]) => path)).toEqual(['list', 'name']);
  });

  it('says which items are wrong, which are there before, and that it is none', () => {
    expect(issuesOf(List, ['a', 'c']).map(([path]) => path)).toEqual(['1']);
    expect(issuesOf(List, ['a', 'b', 'a'])).toEqual([['2', 'is named twice']]);
    expect(issuesOf(List, [])).toEqual([[null, 'is empty']]);
    expect(issuesOf(List, { length: 99_000 })).toHaveLength(1);
  });

  it('has its items and its length in the document of the interface', () => {
    expect(schemaOf(List, 'input')).toEqual({
      type: 'array',
      items: { enum: ['a', 'b'], type: 'string' },
      minItems: 1,
      maxItems: 3,
    });
  });
});

import { describe, expect, it } from 'vitest';
import { keepResponse, keptCharsMax, keptResponse } from './kept-response.ts';

const text = 'x'.repeat(60_000);
const spec = {
  metadata: { key: 'acme', note: text },
  resources: Array.from({ length: 200 }, (_, n) => ({ key: `r${n}` })),
};

/** What a repetition with that body gets, and the characters that are kept. */
function repeated(made: unknown, body: unknown, again = body) {
  const kept = keepResponse(made, body);
  const json = keptResponse(kept, again);
  return { made: json && JSON.parse(json), json, chars: `${kept.response ?? ''}${kept.abridged ?? ''}`.length };
}

describe('the response that is kept for a repetition', () => {
  it('is all of a short one', () => {
    const made = { id: 1, name: 'Once' };
    expect(keepResponse(made, { name: 'Once' })).toEqual({ response: JSON.stringify(made), abridged: null });
  });

  it.each<[string, unknown, unknown]>([
    ['the body', { id: 1, specJson: spec, status: 'draft' }, spec],
    ['most of the body', { id: 1, specJson: spec, status: 'draft' }, { ...spec, orgId: 'org_1' }],
    [
      'a part of the body',
      { id: 1, params: { query: text }, at: null },
      { params: { query: text }, secrets: { a: text } },
    ],
    ['parts of a part', { id: 1, params: { query: text, size: 7 }, at: null }, { params: { query: text } }],
  ])('is little of one that repeats %s, and gives all of it in its order', (_what, made, body) => {
    const again = repeated(made, body);
    expect(again.json).toBe(JSON.stringify(made));
    expect(again.chars).toBeLessThan(keptCharsMax);
  });

  it('is the same to a body whose properties come in another order', () => {
    const made = { id: 1, specJson: spec };
    expect(repeated(made, spec, { resources: spec.resources, metadata: spec.metadata }).made).toEqual(made);
  });

  it('is none of a long one that its body does not have', () => {
    expect(repeated({ id: 1, name: text }, { name: `${text}y` })).toMatchObject({ json: null, chars: 0 });
    expect(repeated({ id: 1, name: text }, undefined)).toMatchObject({ json: null, chars: 0 });
  });
});

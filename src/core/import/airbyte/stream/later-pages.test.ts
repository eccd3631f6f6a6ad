import { afterAll, expect, test } from 'vitest';
import { createTestEvaluator } from '../../../expressions/evaluator-fixture.ts';
import { renderTemplate } from '../../../expressions/template.ts';
import { componentOf } from '../component.ts';
import { createOrigins } from '../manifest/origins.ts';
import { leaveOutLater } from './later-pages.ts';
import type { RequestDraft } from './request-draft.ts';

const evaluator = createTestEvaluator({ size: 1 });
afterAll(() => evaluator[Symbol.asyncDispose]());

const retriever = componentOf(
  { type: 'SimpleRetriever', ignore_stream_slicer_parameters_on_paginated_requests: true },
  createOrigins(),
);

/** What a template of the first page becomes, on a page. */
async function valueOn(page: object, template: string): Promise<unknown> {
  const request: RequestDraft = { method: 'GET', base: '', path: '', query: { q: template }, headers: {}, body: null };
  leaveOutLater(retriever, {
    request,
    added: { query: ['q'], headers: [], isInBody: false },
    pagination: { kind: 'cursor' },
  });
  const roots = { each: { from: 'a', to: 'b' }, page };
  return await renderTemplate(request.query['q'], roots, { evaluator, now: new Date(0), missing: 'omit' });
}

test.each([
  ['{{ each.from }}', 'a'],
  ['{{ each.from }} to {{ each.to }}', 'a to b'],
  ['since {{ each.from }}', 'since a'],
  ['{{ each.from = "a" ? "}}" : "{{" }}', '}}'],
  ['plain "text"', 'plain "text"'],
])('the template %s of a first page has its value there, and none on later pages', async (template, value) => {
  expect(await valueOn({}, template)).toBe(value);
  expect((await valueOn({ cursor: 'x' }, template)) ?? null).toBeNull();
});

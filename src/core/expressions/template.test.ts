import { afterAll, expect, test } from 'vitest';
import { createTestEvaluator } from './evaluator-fixture.ts';
import { type RenderOptions, renderTemplate } from './template.ts';

const evaluator = createTestEvaluator({ size: 1 });
afterAll(() => evaluator[Symbol.asyncDispose]());

const roots = {
  params: { site: 'north', limit: 50, flags: { a: true }, empty: null, list: [{ id: 1 }, { id: 2 }] },
  each: { repo: 'octo/hello world' },
  lookups: { land: { DE: 'Germany' } },
  watermark: '2026-01-01T00:00:00Z',
};

const render = (value: unknown, options: Partial<RenderOptions> = {}) =>
  renderTemplate(value, roots, { evaluator, now: new Date(0), missing: 'omit', ...options });

test.each([
  ['plain text', 'plain text'],
  ['', ''],
  ['{{ params.limit }}', 50],
  ['{{ params.flags }}', { a: true }],
  ['{{ params.list.id }}', [1, 2]],
  ['{{ $params.site }}', 'north'],
  ['{{ $lookups.land.DE }}', 'Germany'],
  ['{{ params.limit * 2 }}', 100],
  ['{{ {"a": params.limit} }}', { a: 50 }],
  ['{{ $keys($)[0] }}', 'params'],
  ['since {{ watermark }}, {{ params.limit }} each', 'since 2026-01-01T00:00:00Z, 50 each'],
  ['{{ params.flags }}!', '{"a":true}!'],
])('renders %j', async (template, expected) => {
  expect(await render(template)).toEqual(expected);
});

test('leaves out what a null or missing hole would fill', async () => {
  expect(await render('{{ params.empty }}')).toBeUndefined();
  expect(await render('{{ nothing.here }}')).toBeUndefined();
  expect(await render('Bearer {{ params.token }}')).toBeUndefined();
  const body = { a: '{{ params.empty }}', b: ['{{ params.none }}', '{{ params.limit }}'], c: null, d: { e: 1 } };
  expect(await render(body)).toEqual({ b: [50], c: null, d: { e: 1 } });
});

test('a missing value in a path is an error of the spec that names the hole', async () => {
  await expect(render('/sites/{{ params.none }}', { missing: 'fail' })).rejects.toMatchObject({
    code: 'spec_invalid',
    message: expect.stringContaining('{{ params.none }}'),
  });
});

test('encodes the holes of a path unless they are raw', async () => {
  const path: Partial<RenderOptions> = { missing: 'fail', encode: encodeURIComponent };
  expect(await render('/repos/{{ each.repo }}/x', path)).toBe('/repos/octo%2Fhello%20world/x');
  expect(await render('/repos/{{{ each.repo }}}/x', path)).toBe('/repos/octo/hello world/x');
  expect(await render('{{ params.limit }}', path)).toBe('50');
});

test('a hole that fails is an error of the spec and shows no value', async () => {
  await expect(render('{{ $number(params.site) }}')).rejects.toMatchObject({
    code: 'spec_invalid',
    message: expect.not.stringContaining('north'),
  });
});

test('a "__proto__" key of a structure stays data', async () => {
  const value: unknown = await render(JSON.parse('{"__proto__":{"x":"{{ params.limit }}"}}'));
  expect(JSON.stringify(value)).toBe('{"__proto__":{"x":50}}');
});

import jsonata from 'jsonata';
import { describe, expect, it } from 'vitest';
import { changedSpec } from '../../../../test/support/sync/spec-documents.ts';
import { knownFunctions, ownFunctions, refusedFunctions } from '../../expressions/jsonata-functions.ts';
import { checkSpec } from './check.ts';

interface Case {
  readonly at: string;
  readonly text: unknown;
  /** The code expected at `at`; null when the expression is fine. */
  readonly code: 'schema' | 'unresolved_dependency' | null;
}

const list = [{ as: 'repo', values: '{{ params.apiUrl }}' }];
const table = { assignTo: 'countries', kind: 'static', table: {} };
const enrich = { assignTo: 'plan', request: { path: '/plans' }, key: 'record.plan_id' };

const cases: readonly Case[] = [
  // What does not parse.
  { at: 'resources.0.transform', text: '{"a":', code: 'schema' },
  { at: 'resources.0.filter', text: '', code: 'schema' },
  { at: 'resources.0.request.query.q', text: '{{ a b }}', code: 'schema' },
  { at: 'resources.0.request.query.q', text: 'x {{ a', code: 'schema' },
  { at: 'resources.0.transform', text: '('.repeat(60_000), code: 'schema' },
  { at: 'resources.0.transform', text: `a${'.%'.repeat(8000)}`, code: 'schema' },
  { at: 'resources.0.transform', text: `"${'é'.repeat(40_000)}"`, code: 'schema' },
  { at: 'resources.0.request.query.q', text: '{{{ params.apiUrl }}}', code: 'schema' },
  // Requests.
  { at: 'resources.0.request.path', text: '/a/{{{ each.repo }}}/{{ page.number }}', code: null },
  { at: 'resources.0.request.query.q', text: "{{ { 'a': { 'b': window.from }} }}", code: null },
  { at: 'resources.0.request.headers.X-Run', text: '{{ run.id }}-{{ auth.instance }}', code: null },
  { at: 'resources.0.request.query.q', text: '{{ $lookups.countries.DE & lookups.countries.FR }}', code: null },
  { at: 'resources.0.request.query.q', text: '{{ params.nothing }}', code: 'unresolved_dependency' },
  { at: 'resources.0.request.query.q', text: '{{ $.params.nothing }}', code: 'unresolved_dependency' },
  { at: 'resources.0.request.query.q', text: '{{ each.nothing }}', code: 'unresolved_dependency' },
  { at: 'resources.1.request.query.q', text: '{{ each.repo }}', code: 'unresolved_dependency' },
  { at: 'resources.0.request.query.q', text: '{{ lookups.nothing }}', code: 'unresolved_dependency' },
  { at: 'resources.0.request.query.q', text: '{{ lookups.plan }}', code: 'unresolved_dependency' },
  { at: 'resources.0.request.query.q', text: '{{ secrets.token }}', code: 'schema' },
  { at: 'resources.0.request.query.q', text: '{{ $secrets.token }}', code: 'schema' },
  { at: 'resources.0.request.query.q', text: '{{ params.token }}', code: 'schema' },
  { at: 'resources.0.request.query.q', text: '{{ $params.apiUrl }}', code: 'schema' },
  { at: 'resources.0.request.query.q', text: '{{ body.x }}', code: 'schema' },
  { at: 'resources.0.request.query.q', text: '{{ page.limit }}', code: 'schema' },
  {
    at: 'resources.0.request.query.deep',
    text: { list: [{ a: '{{ params.nothing }}' }] },
    code: 'unresolved_dependency',
  },
  { at: 'http.headers.X-Repo', text: '{{ each.repo }}', code: null },
  { at: 'http.headers.X-Secret', text: '{{ secrets.token }}', code: 'schema' },
  // Where secrets belong.
  { at: 'auth.token', text: '{{ secrets.nothing }}', code: 'unresolved_dependency' },
  { at: 'auth.token', text: '{{ secrets.apiUrl }}', code: 'unresolved_dependency' },
  { at: 'auth.token', text: '{{ params.token }}', code: 'schema' },
  { at: 'resources.0.auth', text: { kind: 'bearer', token: '{{ secrets.token }}' }, code: null },
  { at: 'destination', text: { kind: 'postgres', url: '{{ secrets.token }}' }, code: null },
  // Responses.
  { at: 'resources.0.pagination', text: { kind: 'next_url', next: 'body.links.next' }, code: null },
  { at: 'resources.0.pagination.next', text: 'links.next', code: 'schema' },
  { at: 'resources.0.response.successWhen', text: '$exists(data) and status = 200', code: null },
  { at: 'resources.0.response.addFields.repo', text: 'each.repo', code: null },
  { at: 'resources.0.response.addFields.repo', text: 'name', code: 'schema' },
  // Records.
  { at: 'resources.0.transform', text: '{ "a": secrets, "b": params.x, "c": $lookups.plan.name }', code: null },
  { at: 'resources.0.transform', text: '( $lookups := {"x": 1}; $lookups.nothing )', code: null },
  { at: 'resources.0.transform', text: '$map(items, function($item) { $item.params })', code: null },
  { at: 'resources.0.transform', text: '{ "a": $params.nothing }', code: 'unresolved_dependency' },
  { at: 'resources.0.transform', text: '{ "a": $each.nothing }', code: 'unresolved_dependency' },
  { at: 'resources.0.transform', text: '{ "a": $lookups.nothing.x }', code: 'unresolved_dependency' },
  { at: 'resources.0.transform', text: '{ "a": $undefined }', code: 'unresolved_dependency' },
  { at: 'resources.0.transform', text: '{ "a": $lookup($countries, "x") }', code: null },
  { at: 'resources.0.transform', text: '{ "a": $secrets.token }', code: 'schema' },
  { at: 'resources.0.transform', text: '{ "a": $random() }', code: 'schema' },
  { at: 'resources.0.transform', text: '$eval("1")', code: 'schema' },
  { at: 'resources.0.filter', text: '$exists($lookups.plan)', code: 'unresolved_dependency' },
  { at: 'resources.0.forEach.0.when', text: 'count > 0', code: null },
];

describe('the expressions of a spec', () => {
  it.each(cases)('at $at `$text` gives $code', ({ at, text, code }) => {
    const document = changedSpec({
      lookups: [table],
      'resources.0.forEach': list,
      'resources.0.enrich': [enrich],
      ...(at.endsWith('pagination.next') ? { 'resources.0.pagination': { kind: 'next_url' } } : {}),
      [at]: text,
    });
    const result = checkSpec(document);
    const issues = result.valid ? [] : result.issues;
    expect(issues.map((issue) => issue.code)).toEqual(code === null ? [] : [code]);
    expect(issues.every(({ path }) => path.startsWith(at))).toBe(true);
  });

  it('knows every function of jsonata, and refuses those that give another result each time', async () => {
    const names = [...knownFunctions, ...refusedFunctions].filter((name) => !ownFunctions.has(name));
    const types = await Promise.all(names.map((name) => jsonata(`$type($${name})`).evaluate({})));
    expect(names.filter((_, index) => types[index] !== 'function')).toEqual([]);
  });
});

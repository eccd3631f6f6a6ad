import { afterAll, describe, expect, test } from 'vitest';
import { createTestEvaluator } from '../../../expressions/evaluator-fixture.ts';
import { compile, joinedText } from './compile.ts';
import { condition, literal, literalOf, text } from './python.ts';
import { parseTemplate } from './template.ts';
import { constant, pathValue, type Scope, type Value } from './value.ts';

const evaluator = createTestEvaluator();
afterAll(() => evaluator[Symbol.asyncDispose]());

/** Noon of a day in the year 2026. */
const now = new Date('2026-03-31T12:00:00.250Z');

const scope: Scope = {
  place: 'here',
  name: (name) =>
    name === 'r'
      ? pathValue('r', 'object')
      : name === 'parameters'
        ? constant({ name: 'items', path: ['a', 'b'], flag: true })
        : null,
};

const compiled = (template: string): Value => {
  const parsed = parseTemplate(template);
  if (parsed.kind === 'literal') return constant(parsed.text);
  if (parsed.kind === 'expression') return compile(parsed.node, scope);
  return joinedText(parsed.parts.map((part) => compile(part, scope)));
};

const valueOf = async (value: Value, r: unknown): Promise<unknown> =>
  value.constant ? value.constant.value : await evaluator.evaluate({ expression: value.code, input: { r }, now });

describe('an expression of Jinja', () => {
  test.each<[template: string, r: unknown, result: unknown]>([
    ['{{ r.a.b }}', { a: { b: 5 } }, 5],
    ["{{ r['a-b'] }}", { 'a-b': 'x' }, 'x'],
    ["{{ r.get('a', {}).get('b') }}", {}, undefined],
    ["{{ r.get('a', 'none') }}", {}, 'none'],
    ["{{ r.get('a', 'none') }}", { a: null }, null],
    ['{{ r.items[0].id }}', { items: [{ id: 1 }, { id: 2 }] }, 1],
    ['{{ r.items[-1].id }}', { items: [{ id: 1 }, { id: 2 }] }, 2],
    ["{{ r.a or 'other' }}", { a: '' }, 'other'],
    ['{{ r.a and r.b }}', { a: 1, b: 2 }, 2],
    ["{{ 'yes' if r.n > 3 else 'no' }}", { n: 4 }, 'yes'],
    ['{{ not r.a }}', {}, true],
    ['{{ r.a == None }}', { a: null }, true],
    ["{{ r.get('a') == None }}", {}, true],
    ["{{ r.get('a') is none }}", {}, true],
    ['{{ r.a is none }}', {}, false],
    ['{{ r.a is not defined }}', {}, true],
    ["{{ r.status != 'deleted' }}", {}, true],
    ["{{ r.status in ['a', 'b'] }}", { status: 'b' }, true],
    ["{{ 'key' in r }}", { key: null }, true],
    ["{{ 'key' not in r }}", {}, true],
    ["{{ 'ab' in r.text }}", { text: 'xaby' }, true],
    ["{{ r.a + '-' + r.b }}", { a: 'x', b: 'y' }, 'x-y'],
    ['{{ r.a + r.b }}', { a: 1, b: 2 }, 3],
    ['{{ 1 < 2 < 3 }}', {}, true],
    ['{{ 7 // 2 }}', {}, 3],
    ['{{ 2 ** 3 ** 1 }}', {}, 8],
    ['{{ -7 % 3 }}', {}, 2],
    ['{{ r.text[0:3] }}', { text: 'abcdef' }, 'abc'],
    ['{{ r.text[:-1] }}', { text: 'abc' }, 'ab'],
    ["{{ r.url.rstrip('/') }}", { url: 'https://a//' }, 'https://a'],
    ["{{ r.text.split(',')[1] }}", { text: 'a,b' }, 'b'],
    ['{{ r.text | lower }}', { text: 'ABC' }, 'abc'],
    ['{{ r.text | int }}', { text: '12' }, 12],
    ['{{ r.text | int }}', { text: 'x' }, 0],
    ["{{ r.list | join(',') }}", { list: [1, 2] }, '1,2'],
    ["{{ r.list | join(',') }}", { list: [1] }, '1'],
    ["{{ ','.join(r.list) }}", { list: ['a', 'b'] }, 'a,b'],
    ["{{ ','.join(['a', r.b]) }}", { b: 'c' }, 'a,c'],
    ["{{ ['a', r.b] | join('-') }}", { b: 'c' }, 'a-c'],
    ['{{ r.list | length }}', { list: [1] }, 1],
    ["{{ r.list | map(attribute='id') | list }}", { list: [{ id: 1 }] }, [1]],
    ["{{ r.list | selectattr('id', 'equalto', 2) | list }}", { list: [{ id: 1 }, { id: 2 }] }, [{ id: 2 }]],
    ["{{ r.text | regex_search('id=(\\\\d+)') }}", { text: 'x?id=42' }, '42'],
    ['{{ r.text | base64encode }}', { text: 'a:b' }, 'YTpi'],
    ["{{ r.a | default('d') }}", {}, 'd'],
    ["{{ parameters['name'] }}/{{ r.id }}", { id: 7 }, 'items/7'],
    ['{{ parameters.path[1] }}', {}, 'b'],
    ['a{% if r.a %}b{% elif r.b %}c{% else %}d{% endif %}', { b: 1 }, 'ac'],
    ['{% set x = r.a %}{{ x }}{{ x }}', { a: 'y' }, 'yy'],
    ['{{ "a}}b" }}', {}, 'a}}b'],
    ['{{ max(r.a, 3) }}', { a: 5 }, 5],
  ])('%s', async (template, r, result) => {
    expect(await valueOf(compiled(template), r)).toEqual(result);
  });

  test.each<[template: string, result: unknown]>([
    ["{{ now_utc().strftime('%Y-%m-%d') }}", '2026-03-31'],
    ["{{ (now_utc() - duration('P1M')).strftime('%Y-%m-%d') }}", '2026-02-28'],
    ["{{ (now_utc() + duration('PT12H')).strftime('%Y-%m-%dT%H:%M:%SZ') }}", '2026-04-01T00:00:00Z'],
    ["{{ day_delta(-7, format='%Y-%m-%d') }}", '2026-03-24'],
    ['{{ today_utc() }}', '2026-03-31'],
    ["{{ today_with_timezone('UTC') }}", '2026-03-31'],
    ["{{ today_with_timezone('Pacific/Kiritimati') }}", '2026-04-01'],
    ["{{ (today_with_timezone('Pacific/Kiritimati') - duration('P1D')).strftime('%Y%m%d') }}", '20260331'],
    ["{{ format_datetime('2026-01-02', '%d/%m/%y') }}", '02/01/26'],
    ["{{ format_datetime('2026-01-02T03:04:05', '%s') }}", '1767323045'],
    ["{{ timestamp('2026-01-02T03:04:05Z') | int }}", 1_767_323_045],
    ["{{ str_to_datetime('2026-01-02').strftime('%B %d') }}", 'January 02'],
  ])('%s of a time', async (template, result) => {
    const value = compiled(template);
    expect(await valueOf(value.kind === 'day' ? text(value) : value, {})).toBe(result);
  });

  test.each([
    ['a filter without counterpart', "{{ r.a | hash('md5') }}", 'the filter `hash`'],
    ['a macro whose value changes', '{{ generate_uuid() }}', '`generate_uuid`'],
    ['an unknown time zone', "{{ today_with_timezone('Nowhere/At') }}", 'unknown time zone'],
    ['an unknown name', '{{ nothing.a }}', '`nothing`'],
    ['a loop', '{% for x in r %}{{ x }}{% endfor %}', '{% for %}'],
    ['a path without end', '{{ r. }}', 'ends too early'],
    ['a hole without end', '{{ r.a', 'no closing }}'],
    ['deep parentheses', `{{ ${'('.repeat(300)}1${')'.repeat(300)} }}`, 'nests deeper'],
    ['deep negations', `{{ ${'not '.repeat(3000)}r }}`, 'nests deeper'],
    ['a long path', `{{ r${'.a'.repeat(900)} }}`, 'too many steps'],
    ['many tokens', `{{ r${'.a'.repeat(3000)} }}`, 'more than 5000 tokens'],
    ['operands that double', `{{ ${'r.a or '.repeat(30)}r.b }}`, 'too long'],
    ['a long text', '{{ r.a }}'.repeat(5000), 'longer than'],
  ])('%s is refused with the reason', (_, template, reason) => {
    expect(() => compiled(template)).toThrow(reason);
  });
});

describe('a result', () => {
  test.each([
    ['12', 12],
    ['-1.5', -1.5],
    ['007', '007'],
    ['2024-01-01', '2024-01-01'],
    ['True', true],
    ['None', null],
    ["'x'", 'x'],
    ["['a', 1]", ['a', 1]],
    ['12345678901234567890', '12345678901234567890'],
  ])('is read as a literal of Python: %j', async (given, result) => {
    expect(literal(given)).toEqual(result);
    const read = await valueOf(literalOf(pathValue('r')), given);
    // Only the importer reads lists.
    expect(read).toEqual(Array.isArray(result) ? given : result);
  });

  test.each([
    [0, false],
    ['', false],
    ['False', false],
    ['false', false],
    ['x', true],
    [null, false],
    [undefined, false],
    [[], false],
  ])('as a condition %j is %s', async (given, result) => {
    expect(await valueOf(condition(pathValue('r')), given)).toBe(result);
  });
});

import { describe, expect, it } from 'vitest';
import { AppError } from '../errors.ts';
import { cpuMsOf } from '../work/effort-fixture.ts';
import { readYaml } from './yaml.ts';

/** What a text is refused with: the message of its syntax, or its issue. */
function refusal(text: string): unknown {
  try {
    return readYaml(text).value;
  } catch (error) {
    if (error instanceof AppError) return error.issues?.[0];
    return error instanceof Error ? `${error.name}: ${error.message}` : error;
  }
}

const long = 1_000_000;

describe('readYaml', () => {
  it('reads what JSON can say, and JSON itself', () => {
    const value = { a: [1, 'ü', null, true, 1.5], 'b c': { d: 'x: y' }, e: '', f: [], g: {} };
    expect(readYaml(JSON.stringify(value, null, 2)).value).toEqual(value);
    expect(readYaml('a: [1, ü, null, true, 1.5]\nb c: {d: "x: y"}\ne: ""\nf: []\ng: {}\n').value).toEqual(value);
  });

  it.each([
    ['2020-01-01', '2020-01-01'],
    ['2020-01-01T00:00:00Z', '2020-01-01T00:00:00Z'],
    ['0o14', 12],
    ['014', 14],
    ['0x1F', 31],
    ['1_000', '1_000'],
    ['12:30:00', '12:30:00'],
    ['yes', 'yes'],
    ['no', 'no'],
    ['~', null],
    ['', null],
    ['1.10', 1.1],
    ['"1.10"', '1.10'],
    ['!!str 1', '1'],
  ])('reads %j by the core schema alone', (text, value) => {
    expect(readYaml(`a: ${text}`).value).toEqual({ a: value });
  });

  it('reads by the core schema whatever version the text names', () => {
    expect(readYaml('%YAML 1.1\n---\na: 2020-01-01\nb: yes\nc: 0o14').value).toEqual({
      a: '2020-01-01',
      b: 'yes',
      c: 12,
    });
  });

  it('repeats what an anchor names', () => {
    expect(readYaml('a: &x {b: 1}\nc: *x\nd: [*x]').value).toEqual({ a: { b: 1 }, c: { b: 1 }, d: [{ b: 1 }] });
  });

  it.each([
    ['a key that comes twice', 'a: 1\nb: 2\na: 3', { code: 'duplicate_key', path: 'a', line: 3, column: 1 }],
    ['keys that become equal', '1: a\n"1": b', { code: 'duplicate_key', path: '1', line: 2, column: 1 }],
    ['a merge key', 'a: &x {b: 1}\nc:\n  <<: *x', { path: 'c', line: 3, column: 3 }],
    ['a merge key that the version of the text allows', '%YAML 1.1\n---\na: &x {b: 1}\n<<: *x', { path: '', line: 4 }],
    ['a key that is a list', '{[1]: 2}', { path: '', message: expect.stringContaining('a key must be a text') }],
    ['a key that is an alias', '&a a: 1\n*a : 2', { line: 2, column: 1 }],
    ['an anchor inside itself', 'x: &a {y: *a}', { message: 'is nested deeper than 64 levels' }],
    ['too many aliases', `- &a x\n${'- *a\n'.repeat(101)}`, { path: '101', line: 102, column: 3 }],
  ])('refuses %s and says where', (_name, text, issue) => {
    expect(refusal(text)).toMatchObject({ code: 'schema', ...issue });
  });

  it.each([
    ['its own tag', 'a: !secret x', 'tags such as `!name` are not supported (line 1 column 4)'],
    ['a tag for bytes', 'a: !!binary aGk=', 'tags such as `!name` are not supported (line 1 column 4)'],
    ['a tag for a set', 'a: !!set {x}', 'tags such as `!name` are not supported (line 1 column 4)'],
    ['two documents', 'a: 1\n---\nb: 2', 'it has a second document (line 2 column 1)'],
    ['a tab as indentation', 'a:\n\tb: 1', 'a tab is used as indentation; use spaces (line 2 column 1)'],
    ['an alias without anchor', 'a: *b', 'the alias has no anchor before it'],
    ['a quote that is not closed', 'a: "x', 'a character is missing'],
    ['lists that are deep', '['.repeat(long), 'it is nested deeper than 64 levels'],
    ['objects that are deep', '{a: '.repeat(long / 4), 'it is nested deeper than 64 levels'],
    ['blocks that are deep', '- '.repeat(long / 2), 'it is nested deeper than 64 levels'],
    [
      'many keys',
      Array.from({ length: 99_999 }, (_, index) => `k${index}: 1`).join('\n'),
      'it has more than 100000 tokens',
    ],
    ['many commas', `[${','.repeat(long)}`, 'it has more than 100000 tokens'],
    ['many comments', '#\n'.repeat(long / 2), 'it has more than 100000 tokens'],
    ['many mistakes', 'a: ]\n'.repeat(long / 5), 'it has more than 100000 tokens'],
  ])('refuses %s without reading on', (_name, text, message) => {
    const refused = refusal(text);
    expect(JSON.stringify(refused)).toContain(message);
  });

  it('stops at a billion laughs', () => {
    const names = 'abcdefghij'.split('');
    const lines = names.map((name, index) => {
      const inner = index === 0 ? 'lol' : `*${names[index - 1]}`;
      return `${name}: &${name} [${Array.from({ length: 10 }, () => inner).join(', ')}]`;
    });
    expect(refusal(lines.join('\n'))).toMatchObject({ message: 'the document has more than 100 aliases' });
  });

  it('counts the characters that aliases repeat', () => {
    const text = `a: &a ${'x'.repeat(60_000)}\nb: [${Array.from({ length: 50 }, () => '*a').join(', ')}]`;
    expect(refusal(text)).toMatchObject({ message: 'the document has more than 1048576 characters' });
  });

  it('looks up an alias without a look at the whole document', () => {
    const { placeOf } = readYaml(`a: &a {k: 1}\nb: *a\nc: [${'x,'.repeat(30_000)}1]`);
    expect(cpuMsOf(() => Array.from({ length: 1000 }, () => placeOf('b.k')))).toBeLessThan(1000);
  });

  it('takes the last anchor of a name before an alias', () => {
    expect(readYaml('a: &x 1\nb: *x\nc: &x 2\nd: *x').value).toEqual({ a: 1, b: 1, c: 2, d: 2 });
  });

  it('reads one huge text quickly', () => {
    expect(readYaml(`a: ${'x'.repeat(long)}`).value).toEqual({ a: 'x'.repeat(long) });
  });

  it('never quotes the text in a message', () => {
    for (const text of ['a: hunter2: b: c', 'a: "hunter2', 'a: *hunter2', 'a: !hunter2 x', '- hunter2\n hunter2: ]']) {
      expect(JSON.stringify(refusal(text))).not.toContain('hunter2');
    }
  });
});

describe('placeOf', () => {
  const { placeOf } = readYaml(
    [
      'metadata:',
      '  key: acme',
      'resources:',
      '  - key: a',
      '    request: &r',
      '      path: /a',
      '  - request: *r',
      '    a.b: 1',
    ].join('\n'),
  );

  it.each([
    ['metadata.key', 2, 3],
    ['resources.0', 4, 5],
    ['resources.0.request.path', 6, 7],
    ['resources.1.request.path', 6, 7],
    ['resources.1.a.b', 8, 5],
  ])('finds %s where its key or item is', (path, line, column) => {
    expect(placeOf(path)).toEqual({ line, column });
  });

  it('finds what is missing at the place that lacks it', () => {
    expect(placeOf('resources.0.key.x')).toEqual({ line: 4, column: 5 });
    expect(placeOf('metadata.version')).toEqual({ line: 1, column: 1 });
    expect(placeOf('destination')).toEqual({ line: 1, column: 1 });
  });

  it('finds no place for a path of another document', () => {
    expect(placeOf('http.baseUrl')).toBeNull();
  });
});

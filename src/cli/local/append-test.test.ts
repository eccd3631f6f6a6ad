import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { readYaml } from '../../core/json/yaml.ts';
import { withTest } from './append-test.ts';

const test = { name: 'yes', now: '2026-01-01T00:00:00Z', mocks: [{ body: 'a\nb: #c' }] };
const append = (text: string) => withTest({ text, format: 'yaml', document: readYaml(text).value }, test);

describe('one more test in a file', () => {
  it.each([
    ['no tests', 'a: 1 # one\nb: [1,2]   # two\n'],
    ['no newline at the end', 'a: 1'],
    [
      'a block',
      'a: 1\ntests: # t\n  - {name: x} # first\n\n  # before the second\n  - name: y\n    text: |\n      z\n# end\n',
    ],
    ['a block without indentation', 'tests:\n- name: x # first\n\nb:   2\n'],
  ])('leaves every other character of a YAML file as it is: %s', (_what, text) => {
    const after = append(text);
    expect(readYaml(after).value).toEqual({ ...parse(text), tests: [...(parse(text).tests ?? []), test] });
    const lines = after.split('\n');
    const kept = text.trimEnd().split('\n');
    expect(lines.filter((line) => kept.includes(line))).toEqual(expect.arrayContaining(kept));
  });

  it.each(['tests: []\na: 1 # one\n', 'tests: [{ name: x }]\na: 1 # one\n', '{ a: 1, tests: [] } # one\n'])(
    'keeps the comments of a file whose tests are not a block: %j',
    (text) => {
      const after = append(text);
      expect(readYaml(after).value).toEqual({ ...parse(text), tests: [...(parse(text).tests ?? []), test] });
      expect(after).toContain('# one');
    },
  );

  it('keeps the indentation of a JSON file', () => {
    const text = '{\n    "a": 1\n}\n';
    const after = withTest({ text, format: 'json', document: { a: 1 } }, { name: 'x' });
    expect(after).toBe('{\n    "a": 1,\n    "tests": [\n        {\n            "name": "x"\n        }\n    ]\n}\n');
  });
});

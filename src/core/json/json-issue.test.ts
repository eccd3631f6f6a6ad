import { describe, expect, test } from 'vitest';
import { findJsonIssue } from './json-issue.ts';
import { jsonLimits } from './json-limits.ts';

const { depthMax, nodesMax } = jsonLimits;
const nested = (depth: number): unknown => JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`);

describe('findJsonIssue', () => {
  test('finds none in JSON at its limits', () => {
    expect(findJsonIssue({ a: [1, 'ü', null, true, {}], '😀': -0.5 })).toBeNull();
    expect(findJsonIssue(nested(depthMax))).toBeNull();
    expect(findJsonIssue(Array.from({ length: nodesMax - 1 }, () => 0))).toBeNull();
  });

  test.each([
    ['the end of a value that is too deep', nested(depthMax + 1), 'deep', Array.from({ length: depthMax }, () => '0')],
    ['the first value too many', Array.from({ length: nodesMax }, () => 0), 'large', [String(nodesMax - 1)]],
    ['NUL', { a: [1, { b: 'x\0' }] }, 'nul', ['a', '1', 'b']],
    ['half of a surrogate pair', ['\ud800'], 'surrogate', ['0']],
    ['a number that is not finite', { a: { b: -Infinity } }, 'number', ['a', 'b']],
    ['what is not JSON', { a: [undefined] }, 'type', ['a', '0']],
    ['a root that is not JSON', () => 1, 'type', []],
  ])('names the place of %s', (_, value, kind, path) => {
    expect(findJsonIssue(value)).toMatchObject({ kind, path, name: null });
  });

  test.each([
    ['__proto__', 'reserved'],
    ['constructor', 'reserved'],
    ['prototype', 'reserved'],
    ['a\0', 'nul'],
    ['\udc00', 'surrogate'],
  ])('names the object with a property named %j', (name, kind) => {
    const value = { a: [JSON.parse(`{"ok":1,${JSON.stringify(name)}:1}`)] };
    expect(findJsonIssue(value)).toMatchObject({ kind, path: ['a', '0'], name });
  });

  test('limits texts and names in length only where it is told to', () => {
    const [text, long] = ['x'.repeat(10), 'x'.repeat(11)];
    expect(findJsonIssue({ [text]: text }, { textLengthMax: 10 })).toBeNull();
    expect(findJsonIssue({ a: long }, { textLengthMax: 10 })).toMatchObject({ kind: 'long', path: ['a'], name: null });
    expect(findJsonIssue({ [long]: 1 }, { textLengthMax: 10 })).toMatchObject({ kind: 'long', path: [], name: long });
    expect(findJsonIssue({ [long]: long })).toBeNull();
  });

  test('names the first of several issues in the order of the document', () => {
    expect(findJsonIssue([{ a: 'x\0' }, { constructor: 1 }])).toMatchObject({ kind: 'nul', path: ['0', 'a'] });
    expect(findJsonIssue({ a: Number.NaN, b: 'x\0' })).toMatchObject({ kind: 'number', path: ['a'] });
  });

  test('ends at a value that contains itself, and at one that has the same part again and again', () => {
    const loop: unknown[] = [];
    loop.push(loop);
    expect(findJsonIssue(loop)).toMatchObject({ kind: 'deep' });
    let doubled: unknown = 0;
    for (let level = 0; level < 60; level += 1) doubled = [doubled, doubled];
    expect(findJsonIssue(doubled)).toMatchObject({ kind: 'large' });
  });
});

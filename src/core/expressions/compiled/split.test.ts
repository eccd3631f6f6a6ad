import { expect, test } from 'vitest';
import { splitExpression } from './split.ts';

test.each([
  ['{"a": a, "b": $map(b, $string)}', '{"a": a}', '{ "b": $map(b, $string)}'],
  ['{"a": $split(a, /[,;]/), "b": b}', '{ "b": b}', '{"a": $split(a, /[,;]/)}'],
  [
    "{'a': [a, 1], 'b': ($f := function($x) { $x }; $f(b)), 'c': c}",
    "{'a': [a, 1], 'c': c}",
    "{ 'b': ($f := function($x) { $x }; $f(b))}",
  ],
  ['{"a": "}, \\"b\\": {", "b": $map(b, $string)}', '{"a": "}, \\"b\\": {"}', '{ "b": $map(b, $string)}'],
  ['{"a": a / 2, "b": $map(b, $string)}', '{"a": a / 2}', '{ "b": $map(b, $string)}'],
])('splits %s', (text, compiled, rest) => {
  expect(splitExpression(text)).toMatchObject({ compiled: { expression: compiled }, rest: { expression: rest } });
});

test.each([
  ['all of it can be compiled', '{"a": a, "b": b}'],
  ['nothing of it can', '{"a": $map(a, $string)}'],
  ['a name is computed', '{"a": a, b: $map(b, $string)}'],
  ['a name comes twice', '{"a": a, "a": $map(b, $string)}'],
  ['something stands behind it', '{"a": a, "b": $map(b, $string)}.a'],
  ['it is for each item', 'items{"a": a, "b": $map(b, $string)}'],
  ['a pattern cannot be told from a division', '{"a": a / b, "c": c / d, "b": $map(b, $string)}'],
  ['a list is grouped', '{"a": a, "b": b{"k": 1}}'],
  ['a name is not one for an object', '{"a": a, "__proto__": $map(b, $string)}'],
  ['it does not parse', '{"a": a, "b": $map(b, $string)'],
  ['it is long', `{"a": a, "b": $map(b, $string), "c": "${'x'.repeat(16_384)}"}`],
])('leaves a mapping whole when %s', (_why, text) => {
  expect(splitExpression(text)).toBeNull();
});

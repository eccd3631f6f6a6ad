import { expect, test } from 'vitest';
import { fieldsRead } from './fields-read.ts';

test.each([
  ['{"a": $replace($trim(name), /\\s+/, " ")}', ['name']],
  ['$map(lines.items[price > min], function($i) { $i.price * rate })', ['lines', 'items', 'price', 'min', 'rate']],
  ['($f := function($x) { $x & `last name` }; $f(name) ~> $uppercase)', ['last name', 'name']],
  ['$lookup(tables, "a") ? $each(labels, $f) : $lookups.codes', ['tables', 'labels', 'codes']],
  ['$map(names, $uppercase)[$keys(labels)[0] = key]', ['names', 'labels', 'key']],
  ['"x".y ?? [1, z]', ['x', 'y', 'z']],
  ['1 + 1', []],
])('%s reads what it names', (text, fields) => {
  expect([...(fieldsRead(text) ?? [])].toSorted()).toEqual(fields.toSorted());
});

test.each([
  '$',
  '$$.a',
  'tags[$ != "x"]',
  '*',
  '**.id',
  'items.%.id',
  '$keys()',
  '$string()',
  '$lookup("a")',
  '$each($string)',
  '$ ~> |a|{"b": 1}|',
  'items^(price)',
  '($f := function($x)<o-:a> { $keys($x) }; $f())',
  '($keys)()',
  '($k := $keys; $k())',
  '(true ? $lookup : $string)("secret")',
  '(function() { $keys })()()',
  'id ~> $string',
  'items@$i',
  '$keys(items@$i)',
  'items#$n.{"n": $n, "all": %}',
  'not an expression (',
])('%s may read anything', (text) => {
  expect(fieldsRead(text)).toBeNull();
});

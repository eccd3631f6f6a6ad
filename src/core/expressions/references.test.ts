import { describe, expect, it } from 'vitest';
import { cpuMsOf } from '../work/effort-fixture.ts';
import { parseExpression } from './expression.ts';
import { expressionReferences } from './references.ts';

function references(text: string): readonly string[] {
  const parsed = parseExpression(text);
  if (!parsed.ok) throw new Error(parsed.message);
  return expressionReferences(parsed.ast)
    .filter(({ kind, name }) => kind === 'field' || !['map', 'lookup', 'sift', 'exists', 'string'].includes(name))
    .map(({ kind, name, member }) => `${kind === 'variable' ? '$' : ''}${name}${member === null ? '' : `.${member}`}`);
}

describe('expressionReferences', () => {
  it.each([
    ['params.x', ['params.x']],
    ["params.'x'", ['params.x']],
    ['params[0].x', ['params.x']],
    ['params', ['params']],
    ['$.params.x', ['params.x']],
    ['$$.params.x', ['params.x']],
    ['items.($$.params.x)', ['items', 'params.x']],
    ['items[params.x = 1]', ['items']],
    ['items.{ "a": params }', ['items']],
    ['items^(params)', ['items']],
    ['items{params: x}', ['items']],
    ['$lookups.a.b + $lookups.c', ['$lookups.a', '$lookups.c']],
    ['items.($lookups.a)', ['items', '$lookups.a']],
    ['$lookup($lookups.a, k).b', ['$lookups.a', 'k']],
    ['($x := params.a; $x.b)', ['params.a']],
    ['($lookups := {}; $lookups.a)', []],
    ['(($lookups := {}); $lookups.a)', ['$lookups.a']],
    ['[($x := 1), $y]', ['$y']],
    ['($x := $x.a)', ['$x.a']],
    ['($f := function($n) { $n = 0 ? 1 : $f($n - 1) }; $f(3))', []],
    ['($a := function($x) { $b($x) }; $b := function($x) { $x + 1 }; $a(1))', []],
    ['($f := function() { $g := function() { $late } }; $late := 1; $f()())', []],
    ['($f := (function() { $x }); ($x := 1); $f())', ['$x']],
    ['($y := $late; $late := 1)', ['$late']],
    ['$map(items, function($v) { $v.a & $w })', ['items', '$w']],
    ['items@$i#$p.[$i.a, $p]', ['items']],
    ['a ? b.c : d', ['a', 'b.c', 'd']],
    ['a ?? b', ['a', 'a', 'b']],
    ['a ~> $f', ['a', '$f']],
    ['record ~> |items|{"x": y}|', ['record']],
    ['-a.b + [c.d..2][0]', ['a.b', 'c.d']],
  ])('%s takes %j', (text, expected) => {
    expect(references(text)).toEqual(expected);
  });

  it('walks a long chain of `??` in time', () => {
    const cpuMs = cpuMsOf(() => {
      expect(new Set(references(`a${' ?? b'.repeat(60)}`))).toEqual(new Set(['a', 'b']));
    });
    expect(cpuMs).toBeLessThan(1000);
  });
});

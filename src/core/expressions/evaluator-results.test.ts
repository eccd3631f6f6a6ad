import { afterAll, expect, test } from 'vitest';
import { transformer } from './evaluator-fixture.ts';
import { createEvaluatorPool } from './evaluator-pool.ts';

const everyone = createEvaluatorPool({ size: 3 });
const pool = everyone.forOrg('org_a');
afterAll(() => everyone[Symbol.asyncDispose]());

const startedAt = new Date('2026-03-01T12:00:00Z');

const transform = transformer(pool, startedAt);

const evaluate = (expression: string, input: unknown) => pool.evaluate({ expression, input, now: startedAt });

const trap = { s: `${'a'.repeat(40)}!` };

test.each([
  ['nothing', 'missing', 'not_object'],
  ['an array', '[1, 2]', 'not_object'],
  ['a function', 'function($x) { $x }', 'not_object'],
  ['a nested function', '{ "f": $sum }', 'unsupported_value'],
  ['an infinite number', '{ "n": 1 / 0 }', 'unsupported_value'],
  ['NUL', '{ "s": "a\\u0000b" }', 'unsupported_value'],
  ['half a surrogate pair', '{ "s": "\\ud800" }', 'unsupported_value'],
  ['half a surrogate pair as a name', '{ "\\ud800": 1 }', 'unsupported_value'],
  ['2 MB of text', '{ "s": $pad("x", 2000000) }', 'too_large'],
  [
    'shared parts that would be an endless text',
    '($f := function($o, $n) { $n = 0 ? $o : $f({ "a": $o, "b": $o }, $n - 1) }; $f({}, 40))',
    'too_large',
  ],
  ['100 levels', '($f := function($o, $n) { $n = 0 ? $o : $f({ "a": $o }, $n - 1) }; $f({}, 100))', 'too_large'],
  ['an endless loop', '($f := function() { $f() }; $f())', 'timeout'],
  ['a syntax error', '{ "a": ', 'threw'],
])('refuses a result that is %s', async (_what, expression, code) => {
  const [result] = await transform(expression);
  expect(result?.ok === false && result.failure.code).toBe(code);
});

test('refuses an expression above 64 KB', async () => {
  const [result] = await transform(`{ "a": ${'1+'.repeat(40_000)}1 }`);
  expect(result?.ok === false && result.failure.code).toBe('too_large');
});

test('the clock stands at the given time', async () => {
  const [result] = await transform('{ "now": $now(), "year": $now("[Y]"), "ms": $millis() }');
  expect(result).toEqual({ ok: true, value: { now: startedAt.toISOString(), year: '2026', ms: startedAt.getTime() } });
});

test.each([
  ['Europe/Berlin', '2026-03-29T00:59:59Z', '+0100', '2026-03-29'],
  ['Europe/Berlin', '2026-03-29T01:00:00Z', '+0200', '2026-03-29'],
  ['America/Los_Angeles', '2026-01-01T05:00:00Z', '-0800', '2025-12-31'],
  ['asia/kolkata', '2026-01-01T20:00:00Z', '+0530', '2026-01-02'],
  ['Pacific/Kiritimati', '2026-01-01T10:00:00Z', '+1400', '2026-01-02'],
  ['UTC', '2026-01-01T10:00:00Z', '+0000', '2026-01-01'],
])('$zoneOffset of %s at %s is %s', async (zone, at, offset, day) => {
  const expression =
    '($ms := $toMillis(at); $o := $zoneOffset($ms, zone); { "offset": $o, "day": $fromMillis($ms, "[Y0001]-[M01]-[D01]", $o) })';
  const [result] = await transform(expression, { records: [{ zone, at }] });
  expect(result).toEqual({ ok: true, value: { offset, day } });
});

test('$zoneOffset of a whole expression, and of no time', async () => {
  const whole = '$zoneOffset(0, "Asia/Tokyo")';
  expect(await evaluate(whole, {})).toBe('+0900');
  const [result] = await transform('{ "a": $zoneOffset(missing, "Asia/Tokyo"), "b": 1 }');
  expect(result).toEqual({ ok: true, value: { b: 1 } });
});

test.each(['missing', '"Nowhere"', '"+01:00"', '""', 'null', '7'])(
  '$zoneOffset fails on what is no zone: %s',
  async (zone) => {
    const [result] = await transform(`{ "a": $zoneOffset(0, ${zone}) }`);
    expect(result?.ok === false && result.failure.message).toContain('takes the name of a time zone');
  },
);

test.each(['$random()', '$shuffle([1, 2])', '$eval("1")', '$map([1], $shuffle)'])('%s is refused', async (call) => {
  const [result] = await transform(`{ "x": ${call} }`);
  expect(result?.ok === false && result.failure.message).toContain('is not available');
});

test('tables and parameters are bound, in every spelling', async () => {
  const bindings = {
    lookups: { land: { DE: 'Germany' }, count: { a: 1 } },
    params: { p: 1 },
    each: { e: 2 },
    run: { id: 'r' },
  };
  const expression =
    '{ "a": $lookups.land.DE, "b": $land.DE, "c": lookups.land.DE, "d": $count([1, 2]), "e": $params.p + $each.e, "f": $run.id, "keys": $keys($) }';
  const [result] = await transform(expression, { records: [{ k: 1, l: 2 }], bindings });
  expect(result).toEqual({
    ok: true,
    value: { a: 'Germany', b: 'Germany', c: 'Germany', d: 2, e: 3, f: 'r', keys: ['k', 'l'] },
  });
});

test("a record's own lookups field wins over the tables", async () => {
  const [result] = await transform('{ "x": lookups }', {
    records: [{ lookups: 'mine' }],
    bindings: { lookups: { a: 1 } },
  });
  expect(result).toEqual({ ok: true, value: { x: 'mine' } });
});

test("a record's own lookups join the tables for it alone, in every spelling", async () => {
  const bindings = { lookups: { land: { DE: 'Germany' }, plan: 'a table', count: { a: 1 } } };
  const own = [{ plan: { name: 'Pro' }, _p: 1, sum: 'no function' }, null, { plan: null }];
  const expression =
    '{ "a": $lookups.plan, "b": $plan, "c": lookups.plan, "d": $lookups.land.DE & $land.DE, "e": $_p, "f": $sum([1, 2]), "keys": $keys($) }';
  const results = await transform(expression, {
    records: [{ x: 1 }, { x: 1 }, { x: 1 }],
    bindings,
    recordLookups: own,
  });
  const common = { d: 'GermanyGermany', f: 3, keys: 'x' };
  const pro = { name: 'Pro' };
  expect(results).toEqual([
    { ok: true, value: { ...common, a: pro, b: pro, c: pro, e: 1 } },
    { ok: true, value: { ...common, a: 'a table', b: 'a table', c: 'a table' } },
    { ok: true, value: { ...common, a: null, b: null, c: null } },
  ]);
});

test('bindings never leak from one job into the next', async () => {
  for (let round = 0; round < 4; round += 1) {
    await transform('{ "x": $params.secret }', { bindings: { params: { secret: 's' } } });
    expect(await transform('{ "x": $params.secret }')).toEqual([{ ok: true, value: {} }]);
    expect(await evaluate('$params.secret', {})).toBeUndefined();
  }
});

test('an expression that changes its tables changes them for no later page', async () => {
  const bindings = { lookups: { t: { a: 1 } } };
  const expression = '($clone := function($x) { $x }; $lookups ~> |t|{ "a": a + 1 }|; { "a": $lookups.t.a })';
  for (let round = 0; round < 3; round += 1) {
    expect(await transform(expression, { bindings })).toEqual([{ ok: true, value: { a: 2 } }]);
  }
});

test('null is a value unless the spec says that it is missing', async () => {
  const records = [{ a: null, b: [1, null, { c: null }] }];
  expect(await transform('$', { records })).toEqual([{ ok: true, value: records[0] }]);
  expect(await transform('$', { records, nulls: 'missing' })).toEqual([{ ok: true, value: { b: [1, {}] } }]);
});

test('a __proto__ made by an expression is plain data', async () => {
  const [result] = await transform('{ "__proto__": { "polluted": 1 } }');
  expect(result?.ok && Object.keys(result.value)).toEqual(['__proto__']);
  expect(Reflect.get({}, 'polluted')).toBeUndefined();
});

test('evaluates one input to any JSON value', async () => {
  expect(await evaluate('a + 1', { a: 1 })).toBe(2);
  expect(await evaluate('a[0]', { a: [null] })).toBeNull();
  expect(await evaluate('a.b', { a: 1 })).toBeUndefined();
  expect(await evaluate('$sum($)', [1, 2])).toBe(3);
  expect(await evaluate('$lookups.x & $params.y', { lookups: { x: 'l' }, params: { y: 'p' } })).toBe('lp');
});

test.each([
  ['NUL', '$error("bad \\u0000")', 'bad \\u0000'],
  ['half a surrogate pair', '$error("bad \\ud800")', 'bad \\ud800'],
  ['a pair that the cut would split', '$error($pad("", 439, "x") & "😀😀")', 'xx'],
])('the message of an author can be stored whatever it holds: %s', async (_what, expression, shown) => {
  const [result] = await transform(`{ "a": ${expression} }`);
  const message = result?.ok === false ? result.failure.message : '';
  expect(message).toContain(shown);
  expect(message).not.toContain('\0');
  expect(message.isWellFormed() && message.length <= 500).toBe(true);
  await expect(evaluate(expression, {})).rejects.toMatchObject({ message: expect.stringContaining(shown) });
});

test('an evaluation that fails is an error of the spec and shows no value', async () => {
  await expect(evaluate('$number(a)', { a: 'secret' })).rejects.toMatchObject({
    code: 'spec_invalid',
    message: expect.not.stringContaining('secret'),
  });
  await expect(evaluate('$contains(s, /^(a+)+$/)', trap)).rejects.toMatchObject({ code: 'spec_invalid' });
});

import { execFileSync } from 'node:child_process';
import { afterAll, expect, test } from 'vitest';
import { type Bindings, type Evaluator, type RecordLookups } from './evaluation.ts';
import { createTestEvaluator } from './evaluator-fixture.ts';
import { createEvaluatorPool } from './evaluator-pool.ts';

const everyone = createEvaluatorPool({ size: 3 });
const pool = everyone.forOrg('org_a');
afterAll(() => everyone[Symbol.asyncDispose]());

const startedAt = new Date('2026-03-01T12:00:00Z');

interface Task {
  readonly timeoutMs?: number;
  readonly records?: readonly unknown[];
  readonly bindings?: Bindings;
  readonly nulls?: 'keep' | 'missing';
  readonly recordLookups?: readonly RecordLookups[];
  readonly signal?: AbortSignal;
}

const transform = (expression: string, { records = [{}], bindings = {}, nulls = 'keep', ...rest }: Task = {}) =>
  pool.transform({ expression, records, bindings, now: startedAt, nulls, ...rest });

const evaluate = (expression: string, input: unknown) => pool.evaluate({ expression, input, now: startedAt });

const oneRecord = { expression: '{ "x": 1 }', records: [{}], now: startedAt };
const oneInput = { expression: '{ "x": 1 }', input: {}, now: startedAt };

/** Processes that this one has started. */
const children = (): readonly number[] =>
  execFileSync('ps', ['-A', '-o', 'pid=,ppid=,comm='], { encoding: 'utf8' })
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, parent, name]) => Number(parent) === process.pid && name !== 'ps')
    .map(([pid]) => Number(pid));

const trap = { s: `${'a'.repeat(40)}!` };
const backtracking = '{ "s": $contains(s, /^(a+)+$/) }';

test('gives one result per record, in order', async () => {
  const records = Array.from({ length: 1_234 }, (_, id) => ({ id }));
  const results = await transform('{ "twice": id * 2 }', { records });
  expect(results).toEqual(records.map(({ id }) => ({ ok: true, value: { twice: id * 2 } })));
});

test('gives nothing for no records', async () => {
  expect(await transform('{}', { records: [] })).toEqual([]);
});

test('a record that throws costs only itself', async () => {
  const results = await transform('{ "n": $number(n) }', { records: [{ n: '1' }, { n: 'secret' }, { n: '3' }] });
  expect(results.map((result) => result.ok)).toEqual([true, false, true]);
  expect(results[1]).toEqual({
    ok: false,
    failure: { code: 'threw', message: 'D3030: Unable to cast value to a number: (value) (at character 15)' },
  });
});

test('a record that hangs its child costs only itself', async () => {
  const records = [...Array.from({ length: 60 }, () => ({ s: 'aaa' })), trap, { s: 'b' }];
  const results = await transform(backtracking, { records });
  expect(results[60]).toEqual({
    ok: false,
    failure: { code: 'timeout', message: expect.stringContaining('too long') },
  });
  expect(results.filter((result) => !result.ok)).toHaveLength(1);
  expect(results[61]).toEqual({ ok: true, value: { s: false } });
});

test('a record that exhausts the memory of its child costs only itself', async () => {
  const expression = '($s := $pad("x", 1000000); { "n": $count([1..n].$uppercase($s)) })';
  const results = await transform(expression, { records: [{ n: 1 }, { n: 100_000 }, { n: 1 }] });
  expect(results.map((result) => (result.ok ? 'ok' : result.failure.code))).toEqual(['ok', 'memory', 'ok']);
});

test.each([
  ['a record alone on its page', (own: Evaluator) => own.transform({ ...oneRecord, bindings: {}, nulls: 'keep' })],
  ['an evaluation', async (own: Evaluator) => [{ ok: true, value: await own.evaluate(oneInput) }]],
] as const)('%s is not blamed for the first child that dies', async (_what, work) => {
  await using own = createTestEvaluator({ size: 1 });
  const others = children();
  await own.evaluate(oneInput);
  const [pid = 0] = children().filter((child) => !others.includes(child));
  // Held, it cannot answer before it is killed.
  process.kill(pid, 'SIGSTOP');
  const result = work(own);
  await new Promise((later) => setImmediate(later));
  process.kill(pid, 'SIGKILL');
  expect(await result).toEqual([{ ok: true, value: { x: 1 } }]);
});

test('a caller that names its time gets its answer at the first death', async () => {
  const started = performance.now();
  const [result] = await transform(backtracking, { records: [trap], timeoutMs: 1_500 });
  expect(result?.ok === false && result.failure.code).toBe('timeout');
  expect(performance.now() - started).toBeLessThan(2_900);
});

test('work of others goes on while every child of the pool could be hanging', async () => {
  const hanging = transform(backtracking, { records: [trap, trap, trap], timeoutMs: 500 });
  const started = performance.now();
  expect(await transform('{ "x": 1 }')).toEqual([{ ok: true, value: { x: 1 } }]);
  expect(performance.now() - started).toBeLessThan(2_000);
  expect((await hanging).map((result) => result.ok)).toEqual([false, false, false]);
}, 20_000);

test('an org waits for no expression of another, however many hang their children', async () => {
  await using shared = createEvaluatorPool({ size: 3 });
  const [hostile, victim] = [shared.forOrg('org_hostile'), shared.forOrg('org_victim')];
  const ended: string[] = [];
  const hanging = Array.from({ length: 10 }, async () => {
    const task = { expression: backtracking, records: [trap], bindings: {}, now: startedAt, nulls: 'keep' } as const;
    await hostile.transform({ ...task, timeoutMs: 500 });
    ended.push('hostile');
  });
  for (let count = 0; count < 3; count += 1) {
    await victim.evaluate(oneInput);
    ended.push('victim');
  }
  expect(ended.filter((name) => name === 'hostile').length).toBeLessThan(5);
  await Promise.all(hanging);
}, 30_000);

test('orgs that wait are served in turn, and each in the order in which it asked', async () => {
  await using shared = createEvaluatorPool({ size: 1 });
  const ended: string[] = [];
  const ask = async (name: string): Promise<void> => {
    await shared.forOrg(name[0] ?? '').evaluate(oneInput);
    ended.push(name);
  };
  await Promise.all(['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1'].map(ask));
  expect(ended).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4']);
});

test('a long page of slow records is worked off in slices and none is blamed', async () => {
  const records = Array.from({ length: 12 }, (_, id) => ({ id }));
  const results = await transform('{ "id": id, "n": $count([1..30000][$ % 2 = 0]) }', { records });
  expect(results).toEqual(records.map(({ id }) => ({ ok: true, value: { id, n: 15_000 } })));
}, 30_000);

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

test('a record of many megabytes is transformed alone', async () => {
  const results = await transform('{ "n": $length(s) }', {
    records: [{ s: 'a' }, { s: 'x'.repeat(3_000_000) }, { s: 'b' }],
  });
  expect(results.map((result) => result.ok && result.value)).toEqual([{ n: 1 }, { n: 3_000_000 }, { n: 1 }]);
});

test('the clock stands at the given time', async () => {
  const [result] = await transform('{ "now": $now(), "year": $now("[Y]"), "ms": $millis() }');
  expect(result).toEqual({ ok: true, value: { now: startedAt.toISOString(), year: '2026', ms: startedAt.getTime() } });
});

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

test('records with lookups of their own are cut, sliced and tried again like others', async () => {
  const records = [...Array.from({ length: 300 }, (_, id) => [{ id }]), trap];
  const recordLookups = records.map((_, n) => ({ n }));
  const expression = '{ "n": $lookups.n, "s": $contains(s, /^(a+)+$/) }';
  const results = await transform(expression, { records, recordLookups });
  expect(results.slice(0, -1).map((result) => result.ok && result.value['n'])).toEqual(
    [...records.keys()].slice(0, -1),
  );
  expect(results.at(-1)).toMatchObject({ ok: false, failure: { code: 'timeout' } });
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

test('an evaluation that fails is a fault of the spec and shows no value', async () => {
  await expect(evaluate('$number(a)', { a: 'secret' })).rejects.toMatchObject({
    code: 'spec_invalid',
    message: expect.not.stringContaining('secret'),
  });
  await expect(evaluate('$contains(s, /^(a+)+$/)', trap)).rejects.toMatchObject({ code: 'spec_invalid' });
});

test('gives up on an expression that ends its child on record after record', async () => {
  const records = Array.from({ length: 40 }, () => trap);
  const page = transform(backtracking, { records, timeoutMs: 100 });
  await expect(page).rejects.toMatchObject({ code: 'spec_invalid', message: expect.stringContaining('on one page') });
}, 30_000);

test('goes no further on a page whose signal is aborted', async () => {
  const stop = new AbortController();
  const records = Array.from({ length: 40 }, () => trap);
  const page = transform(backtracking, { records, timeoutMs: 100, signal: stop.signal });
  stop.abort(new Error('enough'));
  await expect(page).rejects.toThrow('enough');
});

test('a closed pool takes no more work', async () => {
  const closing = createTestEvaluator({ size: 1 });
  await closing[Symbol.asyncDispose]();
  await expect(closing.evaluate({ expression: '1', input: {}, now: startedAt })).rejects.toThrow(/closed/);
});

test('work cut off by closing is a failure of the call, never of a record', async () => {
  const closing = createTestEvaluator({ size: 1 });
  const work = closing.transform({
    expression: backtracking,
    records: [trap],
    bindings: {},
    now: startedAt,
    nulls: 'keep',
  });
  await Promise.all([expect(work).rejects.toThrow(/closed/), closing[Symbol.asyncDispose]()]);
});

import { execFileSync } from 'node:child_process';
import { afterAll, expect, test } from 'vitest';
import { type Evaluator } from './evaluation.ts';
import { createTestEvaluator, transformer } from './evaluator-fixture.ts';
import { createEvaluatorPool } from './evaluator-pool.ts';

const everyone = createEvaluatorPool({ size: 3 });
const pool = everyone.forOrg('org_a');
afterAll(() => everyone[Symbol.asyncDispose]());

const startedAt = new Date('2026-03-01T12:00:00Z');

const transform = transformer(pool, startedAt);

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

test('each record has one result, in the order of the records', async () => {
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

test('a function that is given null says so, and what helps', async () => {
  const results = await transform('{ "s": $lowercase(s) }', { records: [{ s: null }, { s: 7 }] });
  expect(results.map((result) => (result.ok ? '' : result.failure.message))).toEqual([
    'T0410: Argument 1 of function "lowercase" does not match function signature: it is null. Write x ? $f(x) : null, ' +
      'or in a transform set transformNulls: missing (at character 18)',
    'T0410: Argument 1 of function "lowercase" does not match function signature (at character 18)',
  ]);
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

test('a record that exhausts the memory of its child costs only itself', { retry: 2 }, async () => {
  // On a busy machine the clock may end it before the memory does: then it is tried again.
  const expression = '($s := $pad("x", 3000000); { "n": $count([1..n].$uppercase($s)) })';
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
  // Held, it cannot respond before it is killed.
  process.kill(pid, 'SIGSTOP');
  const result = work(own);
  await new Promise((later) => setImmediate(later));
  process.kill(pid, 'SIGKILL');
  expect(await result).toEqual([{ ok: true, value: { x: 1 } }]);
});

test.each([
  ['long texts', () => ({ text: 'x'.repeat(16_000_001) })],
  ['many values', () => Array.from({ length: 6_000_000 }, () => [])],
  ['texts that are longer as JSON', () => ({ text: '\n'.repeat(8_000_001) })],
])('an input of more than 16 MB is refused before a child gets it: %s', async (_what, make) => {
  await using own = createTestEvaluator({ size: 1 });
  const before = children();
  await expect(own.evaluate({ ...oneInput, input: make() })).rejects.toThrow('Its input is larger than 16 MB');
  expect(children()).toEqual(before);
});

test('an input with a body may have its fields besides it, where nothing else has their names', async () => {
  const input = { body: { a: 1, status: 2 }, status: 200 };
  const evaluate = (expression: string) => pool.evaluate({ expression, input, now: startedAt, seesBodyFields: true });
  expect(await evaluate('[$.a, a, status, body.status, $keys($)]')).toEqual([1, 1, 200, 2, 'a', 'status', 'body']);
});

test('a caller with its own time limit gets the failure at the first death of a child', async () => {
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
});

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
});

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
});

test('a record of many megabytes is transformed alone', async () => {
  const results = await transform('{ "n": $length(s) }', {
    records: [{ s: 'a' }, { s: 'x'.repeat(3_000_000) }, { s: 'b' }],
  });
  expect(results.map((result) => result.ok && result.value)).toEqual([{ n: 1 }, { n: 3_000_000 }, { n: 1 }]);
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

test('an expression that ends its child on record after record is given up', async () => {
  const records = Array.from({ length: 40 }, () => trap);
  const page = transform(backtracking, { records, timeoutMs: 100 });
  await expect(page).rejects.toMatchObject({ code: 'spec_invalid', message: expect.stringContaining('on one page') });
});

test('a page whose signal is aborted is evaluated no further', async () => {
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

test('a transform may make more of a page than it holds, but not gigabytes of small records', async () => {
  const records = Array.from({ length: 300 }, (_, id) => ({ id }));
  const large = (length: number) => transform(`{ "t": $pad("", ${length}, "x") }`, { records });
  expect(await large(100_000)).toHaveLength(300);
  await expect(large(900_000)).rejects.toMatchObject({
    code: 'spec_invalid',
    message: expect.stringContaining('more than 64 MB'),
  });
});

test('a page whose records share a large value that was looked up is refused before gigabytes are written', async () => {
  const records = Array.from({ length: 300 }, (_, id) => ({ id }));
  const shared = { text: 'x'.repeat(1_000_000) };
  const page = transform('{ "id": id }', { records, recordLookups: records.map(() => shared) });
  await expect(page).rejects.toMatchObject({
    code: 'spec_invalid',
    message: expect.stringContaining('more than 128 MB with what was looked up'),
  });
});

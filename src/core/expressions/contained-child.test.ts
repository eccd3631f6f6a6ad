import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { evaluatorFlags, startContainedChild } from './contained-child.ts';

/** What a script that got into the child's process would be told. */
function tryInChild(script: string): string {
  const code = `try { console.log(String(${script})); } catch (error) { console.log(error.code ?? error.name); }`;
  const { stdout } = spawnSync(process.execPath, [...evaluatorFlags, '-e', code], { env: {}, encoding: 'utf8' });
  return stdout.trim();
}

test.each([
  ['read a file of the system', `require('node:fs').readFileSync('/etc/passwd')`],
  ["read the application's folder", `require('node:fs').readdirSync(${JSON.stringify(process.cwd())})`],
  ['write a file', `require('node:fs').writeFileSync('/tmp/out', '')`],
  ['start a process', `require('node:child_process').spawnSync('id').error`],
  ['start a thread', `new (require('node:worker_threads').Worker)('1', { eval: true })`],
])('a child cannot %s', (_what, script) => {
  expect(tryInChild(script)).toContain('ERR_ACCESS_DENIED');
});

test('a child sees no environment', () => {
  expect(tryInChild('JSON.stringify(process.env)')).toBe('{}');
});

test('a child cannot make code from text', () => {
  expect(tryInChild(`new Function('return 1')()`)).toBe('EvalError');
});

test('a child has no __proto__ accessor to reach a prototype with', () => {
  expect(tryInChild('({}).__proto__')).toBe('undefined');
});

test('a killed child has ended and sends no more responses', async () => {
  const child = await startContainedChild();
  await child.kill();
  expect(() => process.kill(child.pid, 0)).toThrow(/ESRCH/);
  expect(await child.ask(['{}', '', '[]'], 1_000)).toEqual({ ok: false, reason: 'memory' });
});

test('the pool ends a child whose response does not arrive in time', async () => {
  const child = await startContainedChild();
  expect(await child.ask(['only one line of a job'], 50)).toEqual({ ok: false, reason: 'timeout' });
  expect(() => process.kill(child.pid, 0)).toThrow(/ESRCH/);
});

test('a child outlives the signals of a terminal, so that its parent can drain', async () => {
  const child = await startContainedChild();
  process.kill(child.pid, 'SIGINT');
  process.kill(child.pid, 'SIGTERM');
  const head = JSON.stringify({ kind: 'evaluate', orgId: 'o', expression: 'a', nulls: 'keep', nowMs: 0 });
  expect(await child.ask([head, '', '{"a":1}'], 5_000)).toEqual({ ok: true, line: '{"v":1}' });
  await child.kill();
});

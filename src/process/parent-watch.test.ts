import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

const parentWatch = new URL('./parent-watch.ts', import.meta.url).href;
const program = `const { announceReady } = await import('${parentWatch}'); announceReady(); setInterval(() => {}, 1000);
  process.stdout.write('announced');`;

test('a process that is killed after it was ready leaves its compiled modules to the next one', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'compiled-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const env = { ...process.env, NODE_COMPILE_CACHE: folder };
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], { env });
  await once(child.stdout, 'data');
  child.kill('SIGKILL');
  await once(child, 'exit');
  const modules = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  expect(modules.length).toBeGreaterThan(0);
});

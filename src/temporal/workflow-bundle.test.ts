import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DefaultLogger } from '@temporalio/worker';
import { expect, it } from 'vitest';
import { scratchFolder } from '../../test/support/service/scratch-folder.ts';
import { workflowBundle } from './workflow-bundle.ts';

it('a bundle that another user may have planted in the cache is never run', async () => {
  const cacheDir = join(scratchFolder(), 'cache');
  const said: string[] = [];
  const logger = new DefaultLogger('WARN', ({ message }) => void said.push(message));
  const bundle = async () => {
    const made = await workflowBundle(cacheDir, { isVersioned: false, logger });
    if (!('codePath' in made)) throw new Error('it was not kept');
    return made.codePath;
  };
  const path = await bundle();
  const code = readFileSync(path, 'utf8');
  const { ino } = statSync(path);
  expect(await bundle()).toBe(path);
  expect(statSync(path).ino).toBe(ino);

  // In a cache that was open.
  writeFileSync(path, 'planted');
  chmodSync(cacheDir, 0o777);
  expect(await bundle()).toBe(path);
  expect(readFileSync(path, 'utf8')).toBe(code);

  // In one that an earlier version has closed since.
  writeFileSync(path, 'planted');
  chmodSync(path, 0o666);
  expect(said).toEqual([]);
  expect(await bundle()).toBe(path);
  expect(readFileSync(path, 'utf8')).toBe(code);
  expect(statSync(path).mode & 0o022).toBe(0);
  expect(said).toEqual(['the kept workflow bundle may have been written by another user; it is made anew']);
  // What waits where the draft goes is no obstacle, and is not written to.
  mkdirSync(`${path}.${process.pid}`);
  chmodSync(path, 0o666);
  await bundle();
  expect(readdirSync(join(cacheDir, 'workflows'))).toHaveLength(1);
});

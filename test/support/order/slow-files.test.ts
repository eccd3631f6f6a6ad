import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { slowFiles } from './slow-files.ts';

test('each file that is to run early exists', () => {
  expect(Object.keys(slowFiles).filter((file) => !existsSync(file))).toEqual([]);
});

import { expect, test } from 'vitest';
import { slowestFiles } from './slowest-files.ts';

test('the table shows the slow files, longest first, in seconds', () => {
  const files = [
    { file: 'a.test.ts', durationMs: 1200 },
    { file: 'b.test.ts', durationMs: 999 },
    { file: 'c.test.ts', durationMs: 113_820 },
  ];
  expect(slowestFiles(files)).toBe('Slowest files, in seconds:\n  113.8  c.test.ts\n    1.2  a.test.ts\n');
});

test('the table has at most 20 files', () => {
  const files = Array.from({ length: 30 }, (_, n) => ({ file: `${n}.test.ts`, durationMs: 1000 + n * 100 }));
  const [, ...lines] = slowestFiles(files).trimEnd().split('\n');
  expect(lines).toHaveLength(20);
  expect(lines.at(-1)).toContain('10.test.ts');
});

test('a run without slow files has no table', () => {
  expect(slowestFiles([{ file: 'a.test.ts', durationMs: 20 }])).toBe('');
});

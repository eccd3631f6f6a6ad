import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '..');

it('an ApplicationFailure is made here and, with the code of a first step, in the workflow of a run; nowhere else', () => {
  const files = globSync('{activities,db,src,workflows}/**/*.ts', {
    cwd: root,
    exclude: (name) => name.endsWith('.test.ts'),
  });
  const makers = files.filter((file) =>
    /new ApplicationFailure\(|ApplicationFailure\.(?:create|retryable|nonRetryable|fromError)\(/.test(
      readFileSync(join(root, file), 'utf8'),
    ),
  );
  expect(makers.map((file) => file.replaceAll('\\', '/')).toSorted()).toEqual([
    'activities/failures.ts',
    'workflows/run-to-end.ts',
  ]);
});

import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { AppError } from '../src/core/errors.ts';
import { withFailures } from './failures.ts';

const root = join(import.meta.dirname, '..');

it('an ApplicationFailure is made here, for inputs that are refused and, with the code of a first step, in the workflow of a run', () => {
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
    'src/temporal/sealed-inputs.ts',
    'workflows/run-to-end.ts',
    'workflows/sealed-inputs.ts',
  ]);
});

it.each([
  ['that the service did not expect', new TypeError('x is not a function'), false],
  ['that is known to be a fault of the service', new AppError('internal', 'It is not set up.'), false],
  ['that a later attempt may not meet', new AppError('source_unavailable', 'The API is down.'), false],
  ['that stays until somebody changes something', new AppError('spec_invalid', 'Change the spec.'), true],
])('an error %s: Temporal retries it, or not', async (_, error, nonRetryable) => {
  const report = { write: () => undefined, message: 'failed' };
  await expect(withFailures(report, () => Promise.reject(error))).rejects.toMatchObject({ nonRetryable });
});

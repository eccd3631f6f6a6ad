import { expect, it } from 'vitest';
import type { TestModule } from 'vitest/node';
import type { Figure } from '../security/figure.ts';
import { promises } from '../security/promises.ts';
import { linesOf } from './trust-reporter.ts';

interface Shown {
  readonly state?: 'passed' | 'failed';
  readonly figures: readonly Figure[];
}

/** The line of a promise after a run with these tests. */
function lineOf(promise: Figure['promise'], ...tests: readonly Shown[]) {
  const allTests = () =>
    tests.map(({ state = 'passed', figures }, index) => ({
      fullName: `test ${index}`,
      result: () => ({ state }),
      meta: () => ({ figures }),
    }));
  const module = { moduleId: `${process.cwd()}/some.test.ts`, children: { allTests } };
  const lines = linesOf([module as unknown as TestModule]);
  return lines.find(({ says }) => says === promises[promise].says);
}

const shown = (promise: Figure['promise'], count: number, of = 1): Shown => ({ figures: [{ promise, count, of }] });

it('adds figures up over tests, and names the files they come from', () => {
  const line = lineOf('ssrfReached', shown('ssrfReached', 0), shown('ssrfReached', 0, 2), shown('crossOrg', 1));
  expect(line).toMatchObject({ count: 0, total: 3, kept: true, sources: ['some.test.ts: 2 tests'] });
});

it('takes a promise for broken that nothing shows, that was counted once too often, or whose test failed', () => {
  expect(lineOf('ssrfReached')).toMatchObject({ total: 0, kept: false });
  expect(lineOf('ssrfReached', shown('ssrfReached', 0), shown('ssrfReached', 1))).toMatchObject({ kept: false });
  expect(lineOf('ssrfReached', { ...shown('ssrfReached', 0), state: 'failed' })).toMatchObject({ kept: false });
});

it('takes a promise for kept as far as its bound', () => {
  expect(lineOf('tokenCalls', shown('tokenCalls', 1, 50))).toMatchObject({ kept: true });
  expect(lineOf('tokenCalls', shown('tokenCalls', 2, 50))).toMatchObject({ kept: false });
});

import { defineConfig } from 'vitest/config';

const reporters = ['default', './test/support/ci-reporter.ts'];

export default defineConfig({
  test: {
    reporters,
    projects: [
      {
        test: {
          name: 'unit',
          include: ['{src,workflows,activities,db,scripts}/**/*.test.ts'],
          testTimeout: 30_000,
        },
      },
      {
        test: {
          name: 'integration',
          include: ['test/**/*.test.ts'],
          globalSetup: ['test/support/setup.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          // Two cores: more files at once only makes each of them slow.
          maxWorkers: 2,
        },
      },
    ],
  },
});

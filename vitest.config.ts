import { defineConfig } from 'vitest/config';

const reporters = ['default', './test/support/reporters/ci-reporter.ts'];

const withServers = {
  globalSetup: ['test/support/service/setup.ts'],
  testTimeout: 60_000,
  hookTimeout: 60_000,
  // Two cores: more files at once only makes each of them slow.
  maxWorkers: 2,
};

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
          ...withServers,
        },
      },
      {
        test: {
          // The API once more, with the database as judge of its queries: test/support/security/row-security.ts.
          name: 'row security',
          include: [
            'test/contract/{bad-input,tenancy}.test.ts',
            'test/integration/{connection-test,connection-update,rate-limits,spec-tests,spec-upgrade}.test.ts',
            'test/integration/{api-keys,connections,embed,freshness,hooks,oauth-authorize,runs-reading}.test.ts',
            'test/integration/{schedules,specs,webhook-deliveries,webhook-endpoints}.test.ts',
          ],
          env: { TEST_ROW_SECURITY: '1' },
          ...withServers,
        },
      },
    ],
  },
});

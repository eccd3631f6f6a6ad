import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/order/longest-first.ts';

const reporters = ['default', './test/support/reporters/ci-reporter.ts'];

// On two cores. Most files with servers wait for half of their time, for retries, leases and timeouts: a third one has the
// cores meanwhile, and more make each other slow. All projects have the same number, so that they run side by side.
const maxWorkers = 3;

// One process runs many files and loads each module once: a process for each file takes 0.6 s of CPU more (measured).
const oneProcess = { isolate: false, maxWorkers } as const;

/** Far above what any test takes: a machine with ten times more to do than it has cores fails none. */
const timeouts = { testTimeout: 180_000, hookTimeout: 180_000 } as const;

const withServers = { globalSetup: ['test/support/service/setup.ts'], ...timeouts };

/** They use what all files of a process share: `test/support/service/use-shared-service.ts`. */
const onSharedService = [
  'test/integration/{backfill,blocked-hops,client-examples,conditional-requests,connection-lifecycle,deletes,edge-cases,enrichment}.test.ts',
  'test/integration/{events,github,hubspot,import,incremental,offset-pages,pages-at-once,partition-combinations}.test.ts',
  'test/integration/{poisoned-records,report-jobs,request-cache,requests,reference-examples,requeue,rewind,run-waits,session-login,write-modes}.test.ts',
];

/** They look at what their whole process has: the memory it uses, the modules it loaded, the statements that it compiled first. */
const alone = ['test/contract/{destination-drivers,row-security,sqlserver-hostile}.test.ts'];

export default defineConfig({
  test: {
    reporters,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: 'unit',
          include: ['{src,workflows,activities,db,scripts,clients}/**/*.test.ts'],
          ...timeouts,
          ...oneProcess,
        },
      },
      {
        test: {
          name: 'integration',
          include: ['test/**/*.test.ts'],
          exclude: [...onSharedService, ...alone],
          ...withServers,
          ...oneProcess,
        },
      },
      { test: { name: 'shared', include: onSharedService, ...withServers, ...oneProcess } },
      { test: { name: 'alone', include: alone, ...withServers, maxWorkers } },
      {
        test: {
          // The API once more, with the database as a check of its queries: test/support/security/row-security.ts.
          name: 'row security',
          include: [
            'test/contract/{bad-input,tenancy}.test.ts',
            'test/integration/{connection-test,connection-update,rate-limits,spec-tests,spec-upgrade}.test.ts',
            'test/integration/{api-keys,connections,embed,freshness,hook-addresses,hooks,oauth-authorize,oauth-confirm,runs-reading}.test.ts',
            'test/integration/{schedules,specs,webhook-deliveries,webhook-endpoint-secrets,webhook-endpoints,webhook-recovery}.test.ts',
          ],
          env: { TEST_ROW_SECURITY: '1' },
          ...withServers,
          ...oneProcess,
        },
      },
    ],
  },
});

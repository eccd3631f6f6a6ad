import { defineConfig } from 'vitest/config';

/** `npm run bench -- <name>`: never part of the tests, as a machine is never quiet enough to fail one by a time. */
export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    include: ['bench/*.bench.ts'],
    globalSetup: ['test/support/service/setup.ts'],
    testTimeout: 600_000,
    hookTimeout: 60_000,
    maxWorkers: 1,
    reporters: [['default', { summary: false }]],
    disableConsoleIntercept: true,
  },
});

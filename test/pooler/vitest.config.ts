import { defineConfig } from 'vitest/config';

/** `npm run pooler`: the service behind a real PgBouncer. Not part of `npm test`, as no npm package has PgBouncer. */
export default defineConfig({
  test: {
    root: new URL('../..', import.meta.url).pathname,
    include: ['test/pooler/*.pooler.ts'],
    globalSetup: ['test/support/service/setup.ts'],
    testTimeout: 120_000,
    hookTimeout: 60_000,
    maxWorkers: 1,
  },
});

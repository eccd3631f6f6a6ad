import { defineConfig } from 'vitest/config';

/** The processes of the image: deploy/verify.sh unpacks it and starts this. Not part of `npm test`, as it takes a built image. */
export default defineConfig({
  test: {
    root: new URL('../..', import.meta.url).pathname,
    include: ['test/image/*.image.ts'],
    globalSetup: ['test/support/service/setup.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    maxWorkers: 1,
  },
});

import type { Reporter, TestModule } from 'vitest/node';

/** Ends the output with one line that a script can read: `N passed, N failed, N skipped`. */
export default class CiReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const counts = { passed: 0, failed: 0, skipped: 0 };
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        counts[state === 'pending' ? 'skipped' : state] += 1;
      }
      // A file that cannot even be loaded has no tests to count, and must not look like success.
      if (module.state() === 'failed' && module.errors().length > 0) counts.failed += 1;
    }
    process.once('exit', () => {
      process.stdout.write(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped\n`);
    });
  }
}

import { relative } from 'node:path';
import type { Reporter, TestModule } from 'vitest/node';
import { slowestFiles } from './slowest-files.ts';

/** Ends the output with the slowest files and one line that a script can read: `N passed, N failed, N skipped`. */
export default class CiReporter implements Reporter {
  /** Of the last run: with `--watch` there are several. */
  #summary = '';

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
    // Whoever registers last writes last.
    if (this.#summary === '') process.once('exit', () => process.stdout.write(this.#summary));
    const slowest = modules.length > 1 ? slowestFiles(modules.map(durationOf)) : '';
    this.#summary = `${slowest}${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped\n`;
  }
}

const durationOf = (module: TestModule) => ({
  file: relative(module.project.config.root, module.moduleId),
  durationMs: module.diagnostic().duration,
});

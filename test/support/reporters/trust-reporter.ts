import { relative } from 'node:path';
import type { Reporter, TestCase, TestModule } from 'vitest/node';
import { type PromiseName, promises, type SecurityPromise } from '../security/promises.ts';

/** Ends the output with a table: each promise of security, its figure, and the tests it comes from. */
export default class TrustReporter implements Reporter {
  /** Whoever asks for figures has the time for more cases than the tests have. */
  onInit(): void {
    process.env['FUZZ_CASES'] ??= '20000';
    process.env['STRING_SLOT_TEXTS'] ??= '12';
    process.env['LOOPING_PREVIEWS'] ??= '100';
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const lines = linesOf(modules);
    const broken = lines.filter(({ kept }) => !kept).length;
    if (broken > 0) process.exitCode = 1;
    const verdict = broken === 0 ? 'Every promise is kept.' : `${broken} of ${lines.length} promises are not kept.`;
    const failures = modules.flatMap(failuresOf).join('');
    const notes = modules.flatMap(notesOf).join('');
    const table = lines.map(textOf).join('');
    process.once('exit', () => process.stdout.write(`\n${notes}\n${table}${failures}\n${verdict}\n`));
  }
}

interface Line extends SecurityPromise {
  readonly count: number;
  /** 0: no test has shown it. */
  readonly total: number;
  readonly kept: boolean;
  readonly sources: readonly string[];
}

/** A line for each promise. A test that failed breaks every promise it is about. */
export function linesOf(modules: readonly TestModule[]): readonly Line[] {
  const shown = modules.flatMap((module) =>
    [...module.children.allTests()].flatMap((test) =>
      (test.meta().figures ?? []).map((figure) => ({ ...figure, test, file: fileOf(module) })),
    ),
  );
  return Object.entries<SecurityPromise>(promises).map(([name, promise]) => {
    const own = shown.filter((figure) => figure.promise === (name as PromiseName));
    const count = own.reduce((sum, figure) => sum + figure.count, 0);
    const total = own.reduce((sum, figure) => sum + figure.of, 0);
    const passed = own.every(({ test }) => test.result().state === 'passed');
    return {
      ...promise,
      count,
      total,
      kept: passed && total > 0 && count <= (promise.most ?? 0),
      sources: sourcesOf(own),
    };
  });
}

const notesOf = (module: TestModule): readonly string[] =>
  [...module.children.allTests()].flatMap((test) => (test.meta().notes ?? []).map((line) => `${line}\n`));

/** What a test that failed says; a file that cannot be loaded has no tests. */
function failuresOf(module: TestModule): readonly string[] {
  const tests = [...module.children.allTests('failed')].map((test) => ({
    name: `${fileOf(module)}: ${test.fullName}`,
    errors: test.result().errors ?? [],
  }));
  return [...tests, { name: fileOf(module), errors: module.errors() }].flatMap(({ name, errors }) =>
    errors.map(({ message }) => `\n${name}\n  ${message}\n`),
  );
}

const fileOf = ({ moduleId }: TestModule): string => relative(process.cwd(), moduleId);

/** Each file with its tests: the name of one, the number of several. */
function sourcesOf(figures: readonly { readonly file: string; readonly test: TestCase }[]): readonly string[] {
  const files = Map.groupBy(figures, ({ file }) => file);
  return [...files].map(([file, ofFile]) => {
    const names = new Set(ofFile.map(({ test }) => test.fullName));
    return `${file}: ${names.size === 1 ? [...names].join() : `${names.size} tests`}`;
  });
}

function textOf({ kept, count, total, says, of, unit, sources }: Line): string {
  const measured = unit ? `${count} ${unit} over ${total}` : `${count} of ${total}`;
  const figure = total === 0 ? 'not shown' : `${measured} ${of}`;
  const lines = sources.map((source) => `${' '.repeat(29)}${source}\n`).join('');
  return `${kept ? '✓' : '✗'} ${figure.padEnd(26)} ${says}\n${lines}`;
}

import { schemaIssue } from '../../core/errors.ts';
import { eachSpecTest } from '../../core/spec-tests/run-spec-tests.ts';
import { exitCodes } from '../command-error.ts';
import { type CommandResult, counted, createProgress } from '../output.ts';
import { readValidSpec } from '../spec-file.ts';
import type { Tools } from '../tools.ts';
import { openEvaluator } from './evaluator.ts';

export async function runTests(tools: Tools, name: string): Promise<CommandResult> {
  const { spec, located } = await readValidSpec(tools, name);
  await using evaluator = openEvaluator();
  const progress = createProgress(tools);
  const tests: TestOutcome[] = [];
  progress.now(`running ${counted(spec.tests.length, 'test')}`);
  for await (const { test, mismatches, unusedMocks, ms } of eachSpecTest(spec, { evaluator })) {
    const differences = mismatches.map(({ at, message }) => {
      const path = ['tests', tests.length, ...(at === '' ? [] : [at])].join('.');
      const [placed] = located([schemaIssue(path, message)]);
      return { path, message, ...(placed?.line === undefined ? {} : { line: placed.line, column: placed.column }) };
    });
    const { name: testName, resource } = test;
    const passed = differences.length === 0;
    tests.push({ name: testName, resource, passed, ms: Math.round(ms), differences, unusedMocks });
    progress.now(`${tests.length} of ${counted(spec.tests.length, 'test')}`);
  }
  progress.clear();
  const failed = tests.filter(({ passed }) => !passed).length;
  return {
    json: { passed: tests.length - failed, failed, tests },
    lines: [...tests.flatMap(linesOf), summaryOf(name, tests.length, failed)],
    exitCode: failed === 0 ? exitCodes.ok : exitCodes.wrong,
  };
}

interface TestOutcome {
  readonly name: string;
  readonly resource: string;
  readonly passed: boolean;
  readonly ms: number;
  readonly differences: readonly { readonly path: string; readonly message: string }[];
  readonly unusedMocks: readonly number[];
}

const linesOf = ({ name, resource, passed, ms, differences, unusedMocks }: TestOutcome): readonly string[] => [
  `${passed ? 'pass' : 'FAIL'}  ${resource}: ${name}  (${ms} ms)`,
  ...differences.map(({ path, message }) => `      ${path.replace(/^tests\.\d+\.?/, '')}: ${message}`),
  ...unusedMocks.map((index) => `      note: no request used mocks.${index}`),
];

const summaryOf = (name: string, count: number, failed: number): string => {
  if (count === 0) return `${name} has no tests. Record one: css record ${name} --resource KEY`;
  return failed === 0 ? `${counted(count, 'test')} passed` : `${failed} of ${counted(count, 'test')} failed`;
};

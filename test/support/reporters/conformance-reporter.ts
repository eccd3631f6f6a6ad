import { basename } from 'node:path';
import type { Reporter, TestCase, TestModule } from 'vitest/node';
import { destinationKinds } from '../../../src/core/spec/schema/destination-kinds.ts';

/** Ends the output with the table of the conformance suite: a line per case, a column per kind of destination. */
export default class ConformanceReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const cases = new Map<string, Map<string, string>>();
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const { name, kind } = placeOf(module, test);
        const row = cases.get(name) ?? new Map<string, string>();
        row.set(kind, worse(row.get(kind), marks[test.result().state]));
        cases.set(name, row);
      }
    }
    process.once('exit', () => process.stdout.write(tableOf(cases)));
  }
}

const marks = { passed: '✓', failed: '✗', skipped: 'not run', pending: 'not run' } as const;

/** Cases of one kind only are in files that are named after it. */
function placeOf(module: TestModule, test: TestCase): { readonly name: string; readonly kind: string } {
  const [first = '', ...rest] = test.fullName.split(' > ');
  const kind = destinationKinds.find((candidate) => first === candidate || first.startsWith(`${candidate} `));
  if (kind) return { kind, name: [first.slice(kind.length).trim(), ...rest].filter((part) => part !== '').join(': ') };
  const file = basename(module.moduleId);
  return {
    kind: destinationKinds.find((candidate) => file.startsWith(candidate)) ?? 'postgres',
    name: `${first}: ${rest.join(': ')}`,
  };
}

const noServer = '\nsqlserver is a server that only remembers deliveries, because TEST_SQLSERVER_URL names none.\n';

const worse = (before: string | undefined, now: string): string => (before === marks.failed ? before : now);

function tableOf(cases: ReadonlyMap<string, ReadonlyMap<string, string>>): string {
  const line = (name: string, cells: readonly string[]) => `${cells.map((cell) => cell.padEnd(10)).join('')} ${name}\n`;
  const rows = [...cases].map(([name, row]) =>
    line(
      name,
      destinationKinds.map((kind) => row.get(kind) ?? ''),
    ),
  );
  return `\n${line('case', destinationKinds)}${rows.join('')}${process.env['TEST_SQLSERVER_URL'] ? '' : noServer}`;
}

/**
 * Runs in a child of the pool. Reads jobs of three lines from stdin (head, bindings, payload) and writes one line of
 * JSON for each. Keeps no state between jobs except large lookup tables, and for each org parsed expressions.
 */
import { isJsonObject } from '../json/is-json-object.ts';
import { withBodyFields } from './body-fields.ts';
import { describeFailure } from './failure-message.ts';
import { type InterpretedExpression, interpretedExpression } from './interpreted-expression.ts';
import { readLines } from './lines.ts';
import { plainResult } from './plain-result.ts';
import { bindInput, createScope, type Scope, type Values, withoutNulls } from './scope.ts';

interface Head {
  readonly kind: 'transform' | 'evaluate';
  readonly orgId: string;
  readonly expression: string;
  readonly nulls: 'keep' | 'missing';
  readonly nowMs: number;
  /** Whether each record comes as a pair with its own lookups, which may be null. */
  readonly paired?: boolean;
  readonly seesBodyFields?: boolean;
}

/**
 * Milliseconds or characters of output after which a transform returns the results so far; the pool queues the rest
 * again.
 */
const slice = { ms: 500, length: 4_000_000 } as const;

/** A child runs one job at a time, so three lines are always one job. */
const jobLines = 3;

/** The pool sends at most one page of text; more is our bug. */
const lineBytesMax = 256 * 1024 * 1024;

const lines: string[] = [];
const scopeOf = createScope();

readLines(process.stdin, {
  bytesMax: lineBytesMax,
  onLine: (line) => {
    lines.push(line);
    if (lines.length === jobLines) void runJob(lines.splice(0));
  },
  onTooLong: () => process.exit(1),
});
process.stdin.on('end', () => process.exit(0));
// Ctrl-C reaches the whole process group while the parent still drains: the parent ends this child by closing stdin.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
// Everything is loaded: from here on the child cannot even read our own sources.
const permission: { readonly has: unknown; drop?(scope: string): void } = process.permission;
permission.drop?.('fs.read');
process.stdout.write('ready\n');

async function runJob([headText = '', bindingsText = '', payload = '']: readonly string[]): Promise<void> {
  const head: Head = JSON.parse(headText);
  const expression = interpretedExpression(head.orgId, head.expression);
  const response =
    head.kind === 'transform'
      ? await transformSlice(JSON.parse(payload), { head, expression, scope: await scopeOf({ ...head, bindingsText }) })
      : await evaluateOnce(JSON.parse(payload), { head, expression });
  process.stdout.write(`${response}\n`);
}

interface Work {
  readonly head: Head;
  readonly expression: InterpretedExpression;
  readonly scope: Scope;
}

/** Results of the first records: as many as the slice allows, at least one. */
async function transformSlice(records: readonly unknown[], work: Work): Promise<string> {
  const started = performance.now();
  const results: string[] = [];
  let length = 0;
  for (const input of records) {
    const [record, own] = work.head.paired && Array.isArray(input) ? input : [input, null];
    const result = await transformOne(record, own, work);
    results.push(result);
    length += result.length;
    if (length > slice.length || performance.now() - started > slice.ms) break;
  }
  return `[${results.join(',')}]`;
}

async function transformOne(record: unknown, own: Values | null, { head, expression, scope }: Work): Promise<string> {
  try {
    const bound = own === null ? scope.shared : scope.withOwn(own);
    const input = bound.withTables(head.nulls === 'missing' ? withoutNulls(record) : record);
    return plainResult(await expression.evaluate(input, bound.bindings), { objectOnly: true });
  } catch (error) {
    return JSON.stringify(describeFailure(error));
  }
}

/** Uses only the input: the bindings that this child holds belong to another job. */
async function evaluateOnce(given: unknown, { head, expression }: Omit<Work, 'scope'>): Promise<string> {
  const input = head.seesBodyFields && isJsonObject(given) ? withBodyFields(given) : given;
  try {
    return plainResult(await expression.evaluate(input, bindInput(input, head.nowMs)), { objectOnly: false });
  } catch (error) {
    return JSON.stringify(describeFailure(error));
  }
}

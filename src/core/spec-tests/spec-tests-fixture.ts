import type { Issue } from '../errors.ts';
import type { TestEvaluator } from '../expressions/evaluator-fixture.ts';
import { checkSpec } from '../spec/check/check.ts';
import type { ConnectorSpec } from '../spec/schema/spec-schema.ts';
import { runSpecTests } from './run-spec-tests.ts';

type Parts = Readonly<Record<string, unknown>>;

/** A spec with one resource `items` below `https://api.test/v2` and one test of it; throws if it is not valid. */
export function specOf(test: Parts, resource: Parts = {}, spec: Parts = {}): ConnectorSpec {
  const document = {
    metadata: { key: 'acme', name: 'Acme', version: '1.0.0' },
    http: { baseUrl: 'https://api.test/v2' },
    resources: [
      { key: 'items', primaryKey: 'id', request: { path: '/items' }, response: { records: 'data' }, ...resource },
    ],
    tests: [{ name: 'a test', resource: 'items', expect: {}, ...test }],
    ...spec,
  };
  const result = checkSpec(document);
  if (!result.valid) throw new Error(JSON.stringify(result.issues));
  return result.spec;
}

export const responding = (path: string, data: unknown, more: Parts = {}): Parts => ({
  request: { path, ...more },
  respond: { body: { data } },
});

export const wordsOf = (issues: readonly Issue[]): readonly string[] =>
  issues.map(({ path, message }) => `${path}: ${message.replace('test "a test": ', '')}`);

export const runWith =
  (evaluator: TestEvaluator) =>
  async (...parts: Parameters<typeof specOf>) =>
    wordsOf(await runSpecTests(specOf(...parts), { evaluator, testMsMax: 25_000, allMsMax: 60_000 }));

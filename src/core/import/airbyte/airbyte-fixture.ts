/** For tests: small manifests, and runs of the specs made of them. */
import type { Issue } from '../../errors.ts';
import type { TestEvaluator } from '../../expressions/evaluator-fixture.ts';
import { checkSpec } from '../../spec/check/check.ts';
import type { ConnectorSpec } from '../../spec/schema/spec-schema.ts';
import { runSpecTests } from '../../spec-tests/run-spec-tests.ts';
import type { ImportResult } from '../import-result.ts';
import { importAirbyte } from './airbyte.ts';

type Part = Readonly<Record<string, unknown>>;

export const streamOf = (
  parts: {
    readonly stream?: Part;
    readonly retriever?: Part;
    readonly requester?: Part;
    readonly selector?: Part;
  } = {},
): Part => ({
  type: 'DeclarativeStream',
  name: 'items',
  primary_key: 'id',
  retriever: {
    type: 'SimpleRetriever',
    requester: { type: 'HttpRequester', url_base: 'https://api.test/v1', path: '/items', ...parts.requester },
    record_selector: {
      type: 'RecordSelector',
      extractor: { type: 'DpathExtractor', field_path: ['data'] },
      ...parts.selector,
    },
    ...parts.retriever,
  },
  ...parts.stream,
});

export const addFields = (path: readonly string[], value: string, more: Part = {}): Part => ({
  type: 'AddFields',
  fields: [{ path, value, ...more }],
});

export const queryOption = (name: string): Part => ({
  type: 'RequestOption',
  inject_into: 'request_parameter',
  field_name: name,
});

export const imported = (streams: readonly unknown[], more: Part = {}): ImportResult =>
  importAirbyte({ version: '6.0.0', type: 'DeclarativeSource', streams, ...more }, { key: 'acme' });

export function resourceOf(result: ImportResult, index = 0): Record<string, unknown> {
  const { resources } = result.spec;
  const resource: unknown = Array.isArray(resources) ? resources[index] : undefined;
  if (typeof resource !== 'object' || resource === null) throw new Error(JSON.stringify(result.report));
  return resource as Record<string, unknown>;
}

export const refusalOf = (result: ImportResult, index = 0): readonly (string | null)[] => {
  const { path = null, reason = null } = result.report[index] ?? {};
  return [path, reason];
};

/** A mock of a path; `query` and the like narrow it. */
export const mock = (path: string, body: unknown, more: Part = {}): Part => ({
  request: { path, ...more },
  respond: { body },
});

export const runImported =
  (evaluator: TestEvaluator) =>
  async (result: ImportResult, test: Part): Promise<readonly string[]> => {
    const spec = validSpec({ ...result.spec, tests: [{ name: 'imported', resource: 'items', ...test }] });
    const issues: readonly Issue[] = await runSpecTests(spec, { evaluator });
    return issues.map(({ path, message }) => `${path}: ${message}`);
  };

function validSpec(document: Part): ConnectorSpec {
  const checked = checkSpec(document);
  if (!checked.valid) throw new Error(JSON.stringify(checked.issues));
  return checked.spec;
}

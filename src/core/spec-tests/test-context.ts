import type { Evaluator } from '../expressions/evaluation.ts';
import type { ConnectorSpec } from '../spec/schema/spec-schema.ts';
import type { MockApi } from './mock-api.ts';

export interface TestContext {
  readonly spec: ConnectorSpec;
  readonly params: Readonly<Record<string, unknown>>;
  readonly secrets: Readonly<Record<string, unknown>>;
  /** The fixed clock of the test. */
  readonly now: Date;
  readonly evaluator: Evaluator;
  readonly api: MockApi;
  readonly signal: AbortSignal;
}

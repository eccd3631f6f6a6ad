import type { Evaluator } from '../expressions/evaluation.ts';
import type { ConnectorSpec } from '../spec/schema/spec-schema.ts';
import type { MockApi } from './mock-api.ts';

/** What all resources that one test reads have in common. */
export interface TestContext {
  readonly spec: ConnectorSpec;
  /** The params, with defaults filled in. */
  readonly params: Readonly<Record<string, unknown>>;
  readonly secrets: Readonly<Record<string, unknown>>;
  /** The clock of the test: it stands still. */
  readonly now: Date;
  readonly evaluator: Evaluator;
  readonly api: MockApi;
  /** Ends the test. */
  readonly signal: AbortSignal;
}

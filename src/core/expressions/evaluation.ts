/**
 * Plain expressions run as closures in this process (compiled/), all others in child processes that have no access and
 * can be killed (evaluator-pool.ts). Templates of specs consist of expressions (template.ts). A failure concerns one
 * record and is never thrown.
 */

/** `lookups`, `params`, `each` and `run`, each bound as `$name` besides the input. */
export type Bindings = Readonly<Record<string, unknown>>;

/** Values by name besides the tables of `lookups`. */
export type RecordLookups = Readonly<Record<string, unknown>> | null;

export interface EvaluationFailure {
  readonly code: 'threw' | 'timeout' | 'memory' | 'not_object' | 'too_large' | 'unsupported_value';
  /** Safe to show and to store: JSONata's own message without values, or ours; at most 500 characters. */
  readonly message: string;
}

export type Evaluated =
  | {
      readonly ok: true;
      readonly value: Readonly<Record<string, unknown>>;
      /** Absent for JSONata's own interpreter. */
      readonly engine?: 'compiled';
    }
  | { readonly ok: false; readonly failure: EvaluationFailure };

/** Evaluates JSONata for one org: an expression can exhaust only its own child. */
export interface Evaluator {
  /**
   * Evaluates one expression over many records, each result independent and in the order of the input. `now` is the
   * time of `$now()` and `$millis()`. If the expression does not compile, every record fails as `threw`. The objects in
   * `bindings` must not change afterwards: their JSON text is cached. Throws `AppError` `spec_invalid` when the
   * expression repeatedly ends the children on one page, or makes far more of it than it holds.
   */
  transform(options: {
    readonly expression: string;
    readonly records: readonly unknown[];
    /** Whether the decoder has checked that each record is to an expression what its JSON text says. */
    readonly arePlain?: boolean;
    readonly bindings: Bindings;
    /** The lookups of each record alone, merged over `lookups`. */
    readonly recordLookups?: readonly RecordLookups[] | null;
    readonly now: Date;
    /** `missing` first removes JSON null from the input, in objects and arrays. */
    readonly nulls: 'keep' | 'missing';
    /**
     * Milliseconds until the outer clock ends one slice of work; default 2000. A caller that sets it wants a response
     * in that time, as for a preview: a record on its own then gets no second attempt.
     */
    readonly timeoutMs?: number;
    /** Checked before each slice of work; throws its reason. */
    readonly signal?: AbortSignal;
  }): Promise<readonly Evaluated[]>;
  /**
   * Evaluates one expression over one input to any JSON result; `undefined` when it selects nothing. `lookups`,
   * `params`, `each` and `run` of an input object are bound as `$name` too. Throws `AppError` `spec_invalid`; if a
   * child dies, only when a second one dies too. That is a `CostlyExpressionError`, as it is for an input above 16 MB
   * as JSON.
   */
  evaluate(options: {
    readonly expression: string;
    readonly input: unknown;
    readonly now: Date;
    /** Whether the expression sees the fields of `body` besides it; the input has them once. */
    readonly seesBodyFields?: boolean;
  }): Promise<unknown>;
}

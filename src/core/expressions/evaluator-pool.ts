/** Names an expression sees besides its input: `params`, `secrets`, `page`, `$lookups`, … */
export type Bindings = Readonly<Record<string, unknown>>;

/** Why one record's evaluation failed; never thrown, because a bad record must not cost its neighbours. */
export interface EvaluationFailure {
  readonly code: 'threw' | 'timeout' | 'memory' | 'not_object' | 'too_large' | 'unsupported_value';
  /** Safe to show: JSONata's own message without values, or ours. */
  readonly message: string;
}

/** The result of one record, in the order of the input. */
export type Evaluated =
  | { readonly ok: true; readonly value: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly failure: EvaluationFailure };

/** Evaluates JSONata outside this process: an expression can exhaust only its own child. */
export interface Evaluator extends AsyncDisposable {
  /** One expression over many records; each result stands alone. `now` is what `$now()` and `$millis()` give. */
  transform(options: {
    readonly expression: string;
    readonly records: readonly unknown[];
    readonly bindings: Bindings;
    readonly now: Date;
    /** `missing`: JSON null is removed from the input first. */
    readonly nulls: 'keep' | 'missing';
    readonly timeoutMs?: number;
  }): Promise<readonly Evaluated[]>;
  /** One expression over one input, any JSON result; undefined when it selects nothing. Throws `AppError` `spec_invalid`. */
  evaluate(options: { readonly expression: string; readonly input: unknown; readonly now: Date }): Promise<unknown>;
}

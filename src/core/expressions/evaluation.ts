/** Names an expression sees besides its input: `lookups`, `params`, `each`, `run`; each is bound as `$name`. */
export type Bindings = Readonly<Record<string, unknown>>;

/** Values by name beside the tables of `lookups`; null: none. */
export type RecordLookups = Readonly<Record<string, unknown>> | null;

/** Why one record's evaluation failed; never thrown, because a bad record must not cost its neighbours. */
export interface EvaluationFailure {
  readonly code: 'threw' | 'timeout' | 'memory' | 'not_object' | 'too_large' | 'unsupported_value';
  /** Safe to show and to store: JSONata's own message without values, or ours; at most 500 characters. */
  readonly message: string;
}

/** The result of one record, in the order of the input. */
export type Evaluated =
  | {
      readonly ok: true;
      readonly value: Readonly<Record<string, unknown>>;
      /** Absent: JSONata's own interpreter. */
      readonly engine?: 'compiled';
    }
  | { readonly ok: false; readonly failure: EvaluationFailure };

/** Evaluates JSONata outside this process, for one org: an expression can exhaust only its own child. */
export interface Evaluator {
  /**
   * One expression over many records; each result stands alone. `now` is what `$now()` and `$millis()` give. An
   * expression that does not compile fails every record as `threw`. Throws `AppError` `spec_invalid` when the
   * expression ends the children again and again on one page. The objects in `bindings` must not change afterwards:
   * their JSON text is kept.
   */
  transform(options: {
    readonly expression: string;
    readonly records: readonly unknown[];
    /** Whoever decoded them from JSON has seen that each is to an expression what its JSON text says; absent: nobody has looked. */
    readonly arePlain?: boolean;
    readonly bindings: Bindings;
    /** Of each record, what is merged over `lookups` for it alone; null or absent: nothing. */
    readonly recordLookups?: readonly RecordLookups[] | null;
    readonly now: Date;
    /** `missing`: JSON null is removed from the input first, in objects and arrays. */
    readonly nulls: 'keep' | 'missing';
    /**
     * Milliseconds until the outer clock ends one slice of work; 2000 unless told. Whoever tells wants a response in that
     * time, a preview for instance: a record on its own is then not given its second chance.
     */
    readonly timeoutMs?: number;
    /** Asked before each slice of work; throws its reason. */
    readonly signal?: AbortSignal;
  }): Promise<readonly Evaluated[]>;
  /**
   * One expression over one input, any JSON result; undefined when it selects nothing. `lookups`, `params`, `each`
   * and `run` of an input object are bound as `$name` too. Throws `AppError` `spec_invalid`; for a child that died only
   * when a second one dies of it too.
   */
  evaluate(options: { readonly expression: string; readonly input: unknown; readonly now: Date }): Promise<unknown>;
}

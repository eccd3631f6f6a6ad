/**
 * The result of one check: `fault`: the service cannot work, or not as promised; `warning`: it works, with a limit;
 * `unknown`: it cannot be known from here.
 */
export interface Finding {
  /** What was checked, for example `database.version`. */
  readonly check: string;
  readonly status: 'ok' | 'warning' | 'fault' | 'unknown';
  /** What was found, in a sentence without secrets. */
  readonly detail: string;
  /** What to do about it; null: nothing. */
  readonly remedy: string | null;
}

/** A check that found nothing wrong. */
export const ok = (check: string, detail: string): Finding => ({ check, status: 'ok', detail, remedy: null });

/** A check that found something; `remedy` says what to do. */
export const found = (
  status: Exclude<Finding['status'], 'ok'>,
  check: string,
  { detail, remedy }: Pick<Finding, 'detail' | 'remedy'>,
): Finding => ({ check, status, detail, remedy });

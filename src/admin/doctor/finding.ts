/**
 * `fault`: the service cannot work, or not as promised; `warning`: it works, with a limit; `unknown`: it cannot be
 * known from here.
 */
export interface Finding {
  readonly check: string;
  readonly status: 'ok' | 'warning' | 'fault' | 'unknown';
  /** Without secrets. */
  readonly detail: string;
  readonly remedy: string | null;
}

export const ok = (check: string, detail: string): Finding => ({ check, status: 'ok', detail, remedy: null });

export const found = (
  status: Exclude<Finding['status'], 'ok'>,
  check: string,
  { detail, remedy }: Pick<Finding, 'detail' | 'remedy'>,
): Finding => ({ check, status, detail, remedy });

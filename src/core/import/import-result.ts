export interface ImportReport {
  readonly name: string;
  readonly status: 'converted' | 'refused';
  /** Dotted path of the component without a faithful counterpart; `null` if converted. */
  readonly path: string | null;
  /** Why it was refused, or a doubt about the conversion; `null` without either. */
  readonly reason: string | null;
}

export interface ImportResult {
  /** A document that the spec check accepts, with the converted resources. */
  readonly spec: Readonly<Record<string, unknown>>;
  /** In document order. */
  readonly report: readonly ImportReport[];
}

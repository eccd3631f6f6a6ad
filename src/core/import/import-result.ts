/** One stream or one list operation of the imported document. */
export interface ImportReport {
  /** As the document names it. */
  readonly name: string;
  readonly status: 'converted' | 'refused';
  /** Where the component lies that has no faithful counterpart, as a dotted path into the document; null: converted. */
  readonly path: string | null;
  /** Why it has none, or what the author should check, and what to do; null: nothing. */
  readonly reason: string | null;
}

/** A ConnectorSpec made from a document of another format. */
export interface ImportResult {
  /** A document that the spec check accepts, with the resources that were converted. */
  readonly spec: Readonly<Record<string, unknown>>;
  /** One entry for each stream or list operation, in the order of the document. */
  readonly report: readonly ImportReport[];
}

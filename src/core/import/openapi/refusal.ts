/** Why one operation has no counterpart; it is reported, and the rest of the document is converted. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  /** Where the reason lies, as a dotted path into the document; null: in the operation itself. */
  readonly path: string | null;

  constructor(reason: string, path: string | null = null) {
    super(reason);
    this.path = path;
  }
}

/** A part of a document that has no faithful counterpart: it is reported, and the rest of the document is converted. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  /** Why, and what the author can do; for people. */
  readonly reason: string;
  /** Where the reason lies, as a dotted path into the given document; null: in the part itself. */
  readonly path: string | null;

  constructor(reason: string, path: string | null = null) {
    super(path === null ? reason : `${path}: ${reason}`);
    this.reason = reason;
    this.path = path;
  }
}

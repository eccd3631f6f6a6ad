/** A part of a document without a faithful counterpart: it is reported, and the rest of the document is converted. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  /** Why, and what the author can do; for people. */
  readonly reason: string;
  /** Dotted path of the reason in the given document; `null` for the part itself. */
  readonly path: string | null;

  constructor(reason: string, path: string | null = null) {
    super(path === null ? reason : `${path}: ${reason}`);
    this.reason = reason;
    this.path = path;
  }
}

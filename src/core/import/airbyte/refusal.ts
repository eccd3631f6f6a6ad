/** A part of a manifest that has no faithful counterpart: its stream is refused, the others are still converted. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  /** Dotted path into the given document. */
  readonly path: string;
  /** Why, and what the author can do; for people. */
  readonly reason: string;

  constructor(path: string, reason: string) {
    super(`${path}: ${reason}`);
    this.path = path;
    this.reason = reason;
  }
}

/** Throws a {@link Refusal}. */
export function refuse(path: string, reason: string): never {
  throw new Refusal(path, reason);
}

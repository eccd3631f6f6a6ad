/** A record on its way to the destination. */
export interface Deliverable {
  /** Text form of the primary key, unique per connection and resource. */
  readonly externalId: string;
  /** Columns by name: plain JSON values; integers beyond 2^53 are decimal strings. */
  readonly data: Readonly<Record<string, unknown>>;
}

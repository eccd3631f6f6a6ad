/** A record; `at` grows with every change of any record. */
export interface ApiRecord {
  readonly id: string;
  readonly version: number;
  readonly at: number;
  /** Text, except in a record that is invalid. */
  readonly name: string | number;
  /** The name once more, so that it shows when parts are of two versions. */
  readonly twin: string | number;
}

/** A response without its headers. */
export interface ApiResponse {
  readonly status: number;
  readonly body: object;
}

/** One collection of records, by id. */
export type Collection = Map<string, ApiRecord>;

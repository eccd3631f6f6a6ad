import { groups } from './specs.ts';

/** A record; `at` grows with every change of any record. */
export interface ApiRecord {
  readonly id: string;
  readonly version: number;
  readonly at: number;
  /** Text, except in a record that is invalid. */
  readonly name: string | number;
  /** The name once more, so that it shows when parts are of two versions. */
  readonly twin: string | number;
  /** It says that it is deleted; only of `changes`. */
  readonly gone?: true;
}

/** A response; headers absent: it has none. */
export interface ApiResponse {
  readonly status: number;
  readonly body: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One collection of records, by id. */
export type Collection = Map<string, ApiRecord>;

/** The group of a record. */
export const groupOf = (id: string): string => groups[Number(id.slice(1)) % groups.length] ?? '';

/** Whether the API has a record. */
export const isLive = (record: ApiRecord | undefined): boolean => record !== undefined && !record.gone;

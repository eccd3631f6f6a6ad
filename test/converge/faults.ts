import type { Collection } from './records.ts';

/** How the API responds badly. */
export const apiFaults = [
  'status 500',
  'status 401',
  'empty list',
  'error with status 200',
  'list cut',
  'count too low',
  'empty page',
  'keys renamed',
  'plans away',
  'plans cut',
  'users busy',
] as const;
export type ApiFault = (typeof apiFaults)[number];

/** A fault of the fake API. */
export interface Fault {
  readonly kind: ApiFault;
  /** Only requests for this one; null: all. */
  readonly collection: Collection | null;
  /** How many more responses are bad. */
  left: number;
}

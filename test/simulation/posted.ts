/** A request as it arrives. */
export interface Posted {
  readonly url: string;
  readonly id: string;
  readonly body: string;
}

/** A record in a request. */
export interface PostedRecord {
  readonly op: string;
  readonly externalId: string;
  readonly hash?: string;
  readonly data?: { readonly version: number };
}

/** The part of a body that a receiver looks at. */
export interface PostedBody {
  readonly id: string;
  readonly runId: string;
  readonly resourceKey: string;
  readonly batch: { readonly sequence: number; readonly part: string; readonly count: number };
  readonly records: readonly PostedRecord[];
}

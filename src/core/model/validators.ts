/** Validators of an earlier response, for a conditional request (RFC 9110 13.1) or to delay the next request. */
export interface Validators {
  /** They count only for the request with this key. */
  readonly requestKey: string;
  /** Checksum of the spec, with the tables and params that shape its records: those may have changed. */
  readonly specChecksum: string;
  readonly etag: string | null;
  readonly lastModified: string | null;
  /** Time of the response; ISO. */
  readonly at: string;
  /** The response was the whole list, so a 304 proves all of it unchanged; absent for one page of several, or if unknown. */
  readonly isWhole?: true;
}

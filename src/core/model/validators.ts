/**
 * Validators of an earlier response: for a conditional request (RFC 9110 13.1), or to send the next request only after
 * a while.
 */
export interface Validators {
  /** `requestKey` of the response they came with; they count for no other request. */
  readonly requestKey: string;
  /** Of the spec that they came under, and of the tables and params that shape its records: those might differ now. */
  readonly specChecksum: string;
  readonly etag: string | null;
  readonly lastModified: string | null;
  /** When the response came; ISO. */
  readonly at: string;
  /**
   * The response was the whole list, so a 304 says that nothing of it has changed. Absent: it was one page of several, and
   * says nothing of the others; earlier versions of the service did not tell.
   */
  readonly isWhole?: true;
}

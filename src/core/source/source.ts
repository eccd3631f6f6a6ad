import type { Evaluator } from '../expressions/evaluation.ts';
import type { HttpClient } from '../model/http.ts';
import type { Validators } from '../model/validators.ts';
import type { Auth } from '../spec/schema/auth-schema.ts';
import type { HttpSettings } from '../spec/schema/http-schema.ts';
import type { Resource } from '../spec/schema/resource-schema.ts';
import type { FindApp } from './auth/client-app.ts';
import type { TokenSource } from './auth/token.ts';
import type { DecodeTurns } from './decode/decode-turns.ts';
import type { ResponseCache } from './request/response-cache.ts';

export type ReadableResource = Pick<
  Resource,
  'key' | 'request' | 'response' | 'pagination' | 'errors' | 'incremental' | 'fieldChunks' | 'job'
> & {
  readonly primaryKey?: Resource['primaryKey'];
};

/** Results of earlier reads of a partition besides its watermark and validators. */
export interface EarlierReads {
  /** Start of the first read as canonical text, or `null` if it is unknown or had no lower bound. */
  readonly firstStart: string | null;
  /** As-of time (ISO) of a complete read, or `null` without one or if the resource does not ask. */
  readonly readAt: string | null;
}

/** One resource of one connection (and one partition of it), ready to be read. */
export interface Source {
  readonly resource: ReadableResource;
  readonly http: HttpSettings;
  /** The resource's own auth, or the spec's. */
  readonly auth: Auth;
  /** Checksum of the effective spec; a position under another one is discarded. */
  readonly specChecksum: string;
  /** Digest of the tables and params whose change changes every record, absent or empty without any. */
  readonly shapedBy?: string;
  /** The same for the values of `each` that shape the records. */
  readonly shapedByEach?: (each: Source['each']) => string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly secrets: Readonly<Record<string, unknown>>;
  /** OAuth apps of the org; absent where there are none. */
  readonly apps?: FindApp;
  readonly lookups: Readonly<Record<string, unknown>>;
  /** Empty without `forEach`. */
  readonly each: Readonly<Record<string, unknown>>;
  readonly run: { readonly id: string; readonly startedAt: string; readonly mode: string };
  /** Canonical text, or `null` before the first read. */
  readonly watermark: string | null;
  /** The `watermark` root of a list that is read whole, `null` if absent. */
  readonly sentWatermark?: string | number;
  /** Absent without earlier reads, or if the caller did not ask. */
  readonly earlier?: EarlierReads;
  /** Reads from `from` (`initial` if `null`) to the watermark, which stays; `null` for an ordinary read. */
  readonly backfill: { readonly from: string | null; readonly force?: boolean } | null;
  /** Reads everything once more, besides changes, and leaves the watermark. */
  readonly readsAll?: true;
  /** Reads from the start, to compare the result with what was known of the source. */
  readonly startsOver?: boolean;
  /** Stored for requests with a `cache`, if any. */
  readonly validators: Validators | null;
  /** For requests with a `cache` outside the read of a resource, otherwise `null`. */
  readonly responses: ResponseCache | null;
  readonly client: HttpClient;
  readonly decodeTurns: DecodeTurns;
  readonly tokens: TokenSource | null;
  /** Masks a value, such as a new token, in every later log entry and message. */
  readonly mask: (secret: string) => void;
  /**
   * Removes secrets from a text before its digest is stored, as a reader could try a list of words; absent to leave it
   * as it is.
   */
  readonly masked?: (text: string) => string;
  readonly evaluator: Evaluator;
  /**
   * Whether absence from the list proves something, so that a short page does not show its end; `again` only where a
   * read starts over.
   */
  readonly provesEnd?: boolean | 'again';
  /** Identifies an item of a list without a primary key; if absent, the whole item does. */
  readonly itemKey?: (item: unknown) => unknown;
  now(): Date;
}

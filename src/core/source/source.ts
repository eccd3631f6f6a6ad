import type { Evaluator } from '../expressions/evaluation.ts';
import type { HttpClient } from '../model/http.ts';
import type { Validators } from '../model/validators.ts';
import type { Auth } from '../spec/schema/auth-schema.ts';
import type { HttpSettings } from '../spec/schema/http-schema.ts';
import type { Resource } from '../spec/schema/resource-schema.ts';
import type { TokenSource } from './auth/token.ts';
import type { DecodeTurns } from './decode/decode-turns.ts';
import type { ResponseCache } from './request/response-cache.ts';

/** The parts of a resource that define how it is read. */
export type ReadableResource = Pick<
  Resource,
  'key' | 'request' | 'response' | 'pagination' | 'errors' | 'incremental' | 'fieldChunks' | 'job'
> & {
  /** Absent: its items have none. */
  readonly primaryKey?: Resource['primaryKey'];
};

/** What the reads of a partition have left besides its watermark and validators. */
export interface EarlierReads {
  /** Where the first of them began, as canonical text of the cursor; null: it is not known, or had no lower bound. */
  readonly firstStart: string | null;
  /** As of when one came to its end; ISO. Null: none did, or the resource does not ask. */
  readonly readAt: string | null;
}

/** One resource of one connection (and one partition of it), ready to be read. */
export interface Source {
  readonly resource: ReadableResource;
  readonly http: HttpSettings;
  /** The resource's own auth, or the spec's. */
  readonly auth: Auth;
  /** The checksum of the effective spec; a position under another one is discarded. */
  readonly specChecksum: string;
  /** Digest of the tables and params whose change is a change of every record; absent or empty: there are none. */
  readonly shapedBy?: string;
  /** The same of what of `each` shapes the records; absent: nothing does. */
  readonly shapedByEach?: (each: Source['each']) => string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly secrets: Readonly<Record<string, unknown>>;
  /** Tables by name. */
  readonly lookups: Readonly<Record<string, unknown>>;
  /** The values of this partition; empty without `forEach`. */
  readonly each: Readonly<Record<string, unknown>>;
  readonly run: { readonly id: string; readonly startedAt: string; readonly mode: string };
  /** The watermark as canonical text; null: never read before. */
  readonly watermark: string | null;
  /** What `watermark` is in a list that is read whole; absent: null. */
  readonly sentWatermark?: string | number;
  /** What earlier reads have left besides the watermark; absent: nothing, or nobody asked. */
  readonly earlier?: EarlierReads;
  /** A backfill reads from `from` (null: `initial`) to the watermark, which stays. Null: an ordinary read. */
  readonly backfill: { readonly from: string | null; readonly force?: boolean } | null;
  /** Everything is read once more, beside what changed, and the watermark stays. Absent: it is not. */
  readonly readsAll?: true;
  /** What was known of the source before is compared with a read from its start. Absent: it is not. */
  readonly startsOver?: boolean;
  /** The validators for requests with a `cache`; null: none stored. */
  readonly validators: Validators | null;
  /** The cached responses for requests with a `cache` outside the read of a resource; null in that read. */
  readonly responses: ResponseCache | null;
  readonly client: HttpClient;
  /** When the bodies of its responses are decoded. */
  readonly decodeTurns: DecodeTurns;
  /** The tokens; null: the auth kind needs none. */
  readonly tokens: TokenSource | null;
  /** Masks a value, a new token for instance, in every log entry and message from now on. */
  readonly mask: (secret: string) => void;
  /**
   * A text without the secrets that it repeats: of what a digest is made that is stored, or whoever reads it could try a list
   * of words. Absent: the text as it is.
   */
  readonly masked?: (text: string) => string;
  readonly evaluator: Evaluator;
  /**
   * Whether something is concluded from what the list does not have: then a short page is no proof that it has ended.
   * `again`: only where it is read from its start again. Absent: no.
   */
  readonly provesEnd?: boolean | 'again';
  /** What names an item of a list without a primary key; absent: all of the item. */
  readonly itemKey?: (item: unknown) => unknown;
  /** Our clock. */
  now(): Date;
}

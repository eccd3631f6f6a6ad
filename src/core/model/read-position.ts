/** How an API writes its cursor values: `incremental.cursor` of a resource. */
export interface CursorShape {
  readonly type: 'datetime' | 'date' | 'epoch_s' | 'epoch_ms' | 'integer' | 'string';
  /** strptime-like; undefined: ISO 8601. */
  readonly format?: string | undefined;
  /** IANA zone of values without an offset; undefined: UTC. */
  readonly timezone?: string | undefined;
  /** How requests write it; undefined: as the API itself does. */
  readonly sendAs?: 'iso' | 'date' | 'epoch_s' | 'epoch_ms' | 'raw' | undefined;
}

/**
 * What a later process needs to notice a loop: the keys 1, 2, 4, 8, … of the window and the latest.
 *
 * A loop must come back to one of them (Brent's cycle detection), at most one turn later than the full set
 * would notice; so a position holds 15 keys at page 10,000, not 10,000.
 */
export interface GuardState {
  readonly count: number;
  readonly marks: readonly string[];
}

/** Where a page stands in its window, and what its request carries. Plain JSON. */
export interface PagePosition {
  /** The number of the page in its window, from 1. */
  readonly index: number;
  /** `page.number`: the API's own count. */
  readonly number: number;
  /** `page.offset`. */
  readonly offset: number;
  /** `page.cursor`: token or key of the page; null on the first page. */
  readonly cursor: string | number | null;
  /** The whole address, when the API gave one (next_url, link_header); null otherwise. */
  readonly url: string | null;
  /** `page.size`, once the API failed at larger pages; absent: the size of the spec. */
  readonly size?: number;
  /** The first items that must be the last ones of the page before; absent: the pages do not overlap. */
  readonly overlap?: number;
  /** It is requested only to see that the short page before it was the last; absent: as the API says. */
  readonly isProbe?: true;
}

/** The incremental rules of a resource, in units. */
export interface CursorPlan {
  readonly form: CursorShape;
  /** Dotted path in the record; null: the API does not return it, windows alone carry the watermark. */
  readonly field: string | null;
  readonly missing: 'include' | 'exclude' | 'fail';
  readonly order: 'asc' | 'desc' | 'none';
  readonly settleMs: number;
  readonly lookbackMs: number;
  /** The same of an integer cursor, in its own units. */
  readonly lookbackUnits: number;
  /** The windows of the read; null: one window without an end of its own. */
  readonly window: { readonly sizeMs: number; readonly overlapMs: number } | null;
  /** The most records the API gives for one window; null: no such cap. */
  readonly resultCap: { readonly records: number; readonly onReached: 'split' | 'fail' } | null;
  /** How far back the API remembers; null: for ever. */
  readonly retention: { readonly maxAgeMs: number; readonly onExceeded: 'fail' | 'full' } | null;
  /** The API cannot filter: records below the window are dropped here. */
  readonly clientFilter: boolean;
  /** Pages repeat records of the page before on purpose (offset with overlap). */
  readonly overlap: boolean;
  /** A page tells nothing of those before it: only behind the last one is known whether the list moved. */
  readonly claimsAtEnd: boolean;
}

/** The fixed values of one read of one resource (and partition). */
export interface ReadPlan {
  /** The hash of resource, partition, watermark before and spec; a position with another one is discarded. */
  readonly fingerprint: string;
  readonly kind: 'full' | 'cursor' | 'token';
  /** Null unless kind is cursor. */
  readonly cursor: CursorPlan | null;
  /** The watermark before the run as canonical text; null: never read before. */
  readonly watermarkBefore: string | null;
  /**
   * The start as canonical text (of a token: the token) of `initial` or of a backfill's start; null: the begin of time.
   */
  readonly start: string | null;
  /** What `watermark` is for requests of a list that is read whole; null: nothing. */
  readonly sentWatermark: string | number | null;
  /** As of when an earlier read came to its end; ISO. Null: none did, or the plan does not ask. */
  readonly readAt: string | null;
  /** A backfill reads up to the watermark, with what had not settled above it, and never changes it. */
  readonly backfill: boolean;
  /** Of a backfill: it reads on above the watermark, to the end. */
  readonly isOpen: boolean;
  /** What was known before is compared with it. */
  readonly startsOver: boolean;
  /** The first page of every window. */
  readonly firstPage: PagePosition;
}

/** A report job that the API works on. */
export interface JobPosition {
  readonly id: string;
  /** ISO. */
  readonly createdAt: string;
  /** The values of the last poll: what `job` has besides its id. */
  readonly values: Readonly<Record<string, string | number>>;
  /** The part of the report that is read; absent: none is read yet, or the report has no parts. */
  readonly part?: JobPart;
}

/** One of the parts of a report, which are read in the order of the last poll. */
export interface JobPart {
  /** The number of the part, from 0. */
  readonly no: number;
  /** `job.part`. */
  readonly value: string | number;
  /** The hash of all parts: `no` is the number of the same part only while they are the same. */
  readonly parts: string;
}

/** The last item of a page, by which a later look at the page tells whether the list has moved. */
export interface PageEdge {
  /** Where the page was. */
  readonly page: PagePosition;
  /** The hashes of the keys of some items before its last one, in their order. */
  readonly before: readonly string[];
  /** The hash of the key of its last item. */
  readonly mark: string;
  /**
   * The greatest cursor value up to there that no later record has, canonical text; null: none is known. From it on the
   * list can be read anew.
   */
  readonly value: string | null;
}

/** What the pages of a window so far tell of the list, whose pages are numbered. */
export interface ListTrail {
  /** The hashes of the keys of the last items of the page before, in their order. */
  readonly tail: readonly string[];
  /** The ends of some of the pages before, spread over all of them. */
  readonly edges: readonly PageEdge[];
  /** Of how many pages one is among `edges`. */
  readonly stride: number;
  /** Items of the window by the count of the page before; null: it gave none. */
  readonly total: number | null;
  /** Requests for a page that began further and further back, because the page did not follow the one before. */
  readonly back: number;
  /** The offset of the last page that did not follow the one before it; absent: each did. */
  readonly partedAt?: number;
}

/** The page that is read next and all that the pages before it have established. Plain JSON. */
export interface ReadPosition {
  readonly fingerprint: string;
  /** Our clock at the start of the read; ISO. */
  readonly runStart: string;
  /** The API's clock, while it counts as that of its records and is earlier; absent: ours holds. ISO. */
  readonly apiStart?: string;
  /** Whether the API's `Date` header was seen. */
  readonly clockChecked: boolean;
  /** Pages of the read before this one, over all windows and processes. */
  readonly pagesRead: number;
  /** The number of the window in the read, from 1. */
  readonly windowNo: number;
  /** Bounds of the window, canonical text, from inclusive; null: open. For tokens `from` is the token. */
  readonly from: string | null;
  readonly to: string | null;
  /** Where the last window ends; null: open. */
  readonly end: string | null;
  /** Where the window before this one ended; absent: it is the first. Canonical text. */
  readonly edge?: string;
  /** The read begins at its start again, as the API no longer knows what came after the watermark. */
  readonly again?: true;
  readonly page: PagePosition;
  readonly guard: GuardState;
  /** The report job of this window; absent: none is created yet, or the resource has none. */
  readonly job?: JobPosition;
  /** Times this window was restarted because its page token had expired. */
  readonly restarts: number;
  /** Greatest and last cursor value of this window; null: none yet. */
  readonly maxSeen: string | null;
  readonly lastSeen: string | null;
  /** False once a page broke the declared ascending order: then only whole windows are claimed. */
  readonly ordered: boolean;
  /** The watermark that held when this window began, and the one that holds now. */
  readonly base: string | null;
  readonly claim: string | null;
  /** A page was no list that the API sent now, or contradicted it, so nothing more is claimed; absent: none. */
  readonly covered?: false;
  /** Items of this window on the pages before this one; absent: not known. */
  readonly read?: number;
  /** Absent: its pages have no numbers, or it is the first page. */
  readonly trail?: ListTrail;
  /** Times that the list was read anew because it had moved; absent: none. */
  readonly moves?: number;
  /** The window begins at a value that was reached, and not where it began: requests have that value as their watermark. */
  readonly isAnew?: true;
}

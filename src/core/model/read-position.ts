/** The format of an API's cursor values: `incremental.cursor` of a resource. */
export interface CursorShape {
  readonly type: 'datetime' | 'date' | 'epoch_s' | 'epoch_ms' | 'integer' | 'string';
  /** strptime-like; ISO 8601 if undefined. */
  readonly format?: string | undefined;
  /** IANA zone of values without an offset; UTC if undefined. */
  readonly timezone?: string | undefined;
  /** Format in requests; that of the API if undefined. */
  readonly sendAs?: 'iso' | 'date' | 'epoch_s' | 'epoch_ms' | 'raw' | undefined;
}

/**
 * State from which a later process notices a loop: the keys 1, 2, 4, 8, … of the window and the latest. A loop returns
 * to one of them (Brent's cycle detection) at most one turn later than the full set would notice. A position thus holds
 * 15 keys at page 10,000.
 */
export interface GuardState {
  readonly count: number;
  readonly marks: readonly string[];
}

/** The position of a page in its window, and the values in its request, as plain JSON. */
export interface PagePosition {
  /** From 1, within the window. */
  readonly index: number;
  /** `page.number`: the API's own count. */
  readonly number: number;
  readonly offset: number;
  /** `page.cursor`: token or key of the page, `null` on the first page. */
  readonly cursor: string | number | null;
  /** The whole address, if the API gave one (next_url, link_header). */
  readonly url: string | null;
  /** `page.size`, once the API failed at larger pages; by default that of the spec. */
  readonly size?: number;
  /** Leading items that must equal the last ones of the page before; absent if pages do not overlap. */
  readonly overlap?: number;
  /** Requested only to see that the short page before it was the last. */
  readonly isProbe?: true;
}

/** The incremental rules of a resource, in units. */
export interface CursorPlan {
  readonly form: CursorShape;
  /** Dotted path in the record, or `null` if the API does not return it: windows alone carry the watermark. */
  readonly field: string | null;
  readonly missing: 'include' | 'exclude' | 'fail';
  readonly order: 'asc' | 'desc' | 'none';
  readonly settleMs: number;
  readonly lookbackMs: number;
  /** Lookback of an integer cursor, in its own units. */
  readonly lookbackUnits: number;
  /** `null` for one window without an end of its own. */
  readonly window: { readonly sizeMs: number; readonly overlapMs: number } | null;
  readonly resultCap: { readonly records: number; readonly onReached: 'split' | 'fail' } | null;
  /** Time for which the API remembers changes; `null` if unlimited. */
  readonly retention: { readonly maxAgeMs: number; readonly onExceeded: 'fail' | 'full' } | null;
  /** The API cannot filter: records below the window are dropped here. */
  readonly clientFilter: boolean;
  /** Pages repeat records of the page before on purpose (offset with overlap). */
  readonly overlap: boolean;
  /** A page proves nothing about those before it: only after the last one is known whether the list moved. */
  readonly claimsAtEnd: boolean;
}

/** The constants of one read of a resource or partition. */
export interface ReadPlan {
  /** Hash of resource, partition, watermark before and spec; a position with another one is discarded. */
  readonly fingerprint: string;
  readonly kind: 'full' | 'cursor' | 'token';
  readonly cursor: CursorPlan | null;
  /** Canonical text, or `null` if it was never read. */
  readonly watermarkBefore: string | null;
  /** Start from `initial`, a backfill or an earlier first read, as canonical text, or the token; `null` without a lower bound. */
  readonly start: string | null;
  /** Value of `watermark` in requests of a list that is read whole. */
  readonly sentWatermark: string | number | null;
  /** ISO instant as of which an earlier read was complete; `null` if unknown or not needed. */
  readonly readAt: string | null;
  /**
   * A backfill, or a repeated read of everything: it reads up to the watermark, with unsettled records above it, and
   * never changes it.
   */
  readonly backfill: boolean;
  /** A backfill that reads on above the watermark to the end, as a repeated read does. */
  readonly isOpen: boolean;
  /** The read is compared with what was known before. */
  readonly startsOver: boolean;
  readonly firstPage: PagePosition;
}

/** A report job at the API. */
export interface JobPosition {
  readonly id: string;
  /** ISO. */
  readonly createdAt: string;
  /** Values of the last poll, seen as `job` besides its id. */
  readonly values: Readonly<Record<string, string | number>>;
  /** The part being read; absent before the first, or if the report has no parts. */
  readonly part?: JobPart;
}

/** A part of a report; parts are read in the order of the last poll. */
export interface JobPart {
  /** From 0. */
  readonly no: number;
  /** `job.part`. */
  readonly value: string | number;
  /** Hash of all parts; while it is the same, `no` is the same part. */
  readonly parts: string;
}

/** The end of a page, by which a later look at the page tells whether the list has moved. */
export interface PageEdge {
  readonly page: PagePosition;
  /** Hashes of the keys of some items before the last one, in order. */
  readonly before: readonly string[];
  /** The one of the last item; `null`: the page has none. */
  readonly mark: string | null;
  /**
   * The greatest cursor value up to here that no later record has, as canonical text, or `null`. The list can be read
   * again from it.
   */
  readonly value: string | null;
}

/** Evidence from the pages of a window about a list with numbered pages. */
export interface ListTrail {
  /** Hashes of the keys of the last items of the page before, in order. */
  readonly tail: readonly string[];
  /** Ends of some earlier pages, spread over all of them. */
  readonly edges: readonly PageEdge[];
  /** One in so many pages is among `edges`. */
  readonly stride: number;
  /** Items of the window as counted by the page before, or `null`. */
  readonly total: number | null;
  /** Requests that began further and further back, because the page did not follow the one before. */
  readonly back: number;
  /** Offset of the last page that did not follow the one before it. */
  readonly partedAt?: number;
  /** Some page shares no items with the one behind it: the ends of such pages are in `edges`. */
  readonly isLoose?: true;
}

/** The next page to read and all that earlier pages have established, as plain JSON. */
export interface ReadPosition {
  readonly fingerprint: string;
  /** Our clock at the start of the read; ISO. */
  readonly runStart: string;
  /** The API's clock (ISO), if it counts as that of its records and is earlier than ours. */
  readonly apiStart?: string;
  readonly clockChecked: boolean;
  /** Pages before this one, over all windows and processes. */
  readonly pagesRead: number;
  /** From 1. */
  readonly windowNo: number;
  /** Bounds of the window as canonical text, from inclusive, `null` if open; for tokens `from` is the token. */
  readonly from: string | null;
  readonly to: string | null;
  /** End of the last window, `null` if open. */
  readonly end: string | null;
  /** End of the window before, as canonical text; absent in the first. */
  readonly edge?: string;
  /** The read starts over, as the API no longer knows the changes since the watermark. */
  readonly again?: true;
  readonly page: PagePosition;
  readonly guard: GuardState;
  /** Absent until the report job of this window is created. */
  readonly job?: JobPosition;
  readonly restarts: number;
  /** Greatest and last cursor value of this window, or `null`. */
  readonly maxSeen: string | null;
  readonly lastSeen: string | null;
  /** Greatest cursor value of the first page of this window that has one, or `null`. */
  readonly firstMax: string | null;
  /** False once a page broke the declared ascending order: then only whole windows are claimed. */
  readonly ordered: boolean;
  /** The watermark when this window began, and the current one. */
  readonly base: string | null;
  readonly claim: string | null;
  /** A page was not a current list of the API, or contradicted it, so nothing more is claimed. */
  readonly covered?: false;
  /** Items of this window before this page; absent if unknown. */
  readonly read?: number;
  readonly trail?: ListTrail;
  readonly moves?: number;
  /** The window restarted at a value it had reached, which is the watermark in its requests. */
  readonly isAnew?: true;
}

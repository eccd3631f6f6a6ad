/**
 * Reads one resource: a position becomes a request, its response becomes records and the next position. The position
 * holds everything that a later process needs, so a read can stop after any page and continue elsewhere without
 * requesting a complete page again.
 */

import { renderTemplate } from '../../expressions/template.ts';
import { type Gap, type Gaps, isListed } from '../../model/coverage.ts';
import type { ReadPlan, ReadPosition } from '../../model/read-position.ts';
import type { ReadNote } from '../../model/run-notes.ts';
import type { Validators } from '../../model/validators.ts';
import { createEvaluate, type Evaluate } from '../request/evaluate.ts';
import { keptValidators } from '../request/validators.ts';
import type { Source } from '../source.ts';
import { fetchPage, type Page, type PageRequest } from './fetch-page.ts';
import { chunksOf } from './field-chunks.ts';
import { lookAhead } from './look-ahead.ts';
import { type OncePerPage, oncePerPage } from './once-per-page.ts';
import { type CursorPage, noCursors, readCursors } from './page-cursors.ts';
import { isContradicted, itemsRead, pageGaps } from './page-evidence.ts';
import { createPageGuard, noPages, type PageGuard } from './page-guard.ts';
import { emptyReport, requestAt, sentRoots } from './page-request.ts';
import { heavyBytes } from './page-size.ts';
import { createPagesAhead, type PagesAhead } from './pages-ahead.ts';
import { planRead } from './read-plan.ts';
import { advance, begunAgain, isApart, restartFromStart, restartWindow, resumePosition } from './read-window.ts';
import { repetitionOf } from './repeated-page.ts';
import type { JobPort } from './report-job.ts';
import { nextPart } from './report-parts.ts';
import { prepareWindow, type ReportWindow } from './report-window.ts';
import { firstPageLike, smallerPage } from './smaller-page.ts';
import { canSplit, mustSplit, splitWindow } from './window-bounds.ts';

/** One page, ready for the pipeline. */
export interface PageRead {
  /** Number of the page in the read, from 1, over all processes that took part. */
  readonly pageNo: number;
  /** The records after `map` and `addFields`, in the API's order. */
  readonly records: readonly unknown[];
  /** The position once this page is delivered; null: the read is complete. */
  readonly positionAfter: ReadPosition | null;
  /**
   * Canonical text of the watermark that holds once this page and all before are delivered; null: none does. Store it
   * as it is, even when it is lower than that of the page before: a broken order withdraws a claim.
   */
  readonly watermarkAfter: string | null;
  /** The hash of the request: method, address, body. */
  readonly requestKey: string;
  /** The validators for the next conditional request, from the first page; null: none. */
  readonly validators: Validators | null;
  /** The API returned 304: nothing was read, so absence proves nothing. */
  readonly notModified: boolean;
  /** Why the read does not show everything, as far as this page tells; empty: it does. */
  readonly gaps: Gaps;
  /** Why the spec's rules skipped this partition (its watermark stays, the run is partial); null: they did not. */
  readonly skipped: string | null;
  readonly notes: readonly (ReadNote | Gap)[];
}

/** How a read begins. */
export interface ReadOptions {
  /** Where to continue; null: at the first page. A position under another watermark or spec is discarded. */
  readonly position: ReadPosition | null;
  /** Ends the read with its reason. */
  readonly signal: AbortSignal;
  /**
   * Pages that are fetched while the consumer works; default 3. 0: none, and no request is sent before the consumer has
   * the page in front of it.
   */
  readonly lookAhead?: number;
  /** Checked before several pages are requested at once, where the pagination allows it; false: one by one for now. */
  readonly mayFetchSeveral?: () => boolean;
  /** Checked before each page is fetched; true: no further one is fetched, those fetched are still given. */
  readonly enough?: () => boolean;
  /** The jobs of a resource with a report job; absent: there is none, or the read fails. */
  readonly jobs?: JobPort;
}

/**
 * The pages of a resource in order, at least one. Throws `AppError` and what the HTTP client throws, after the pages
 * that were complete before. Leaving the loop early stops the requests in progress.
 */
export async function* readPages(source: Source, options: ReadOptions): AsyncGenerator<PageRead, void, undefined> {
  const evaluate = createEvaluate(source.evaluator, new Date(source.run.startedAt));
  const render = initialRenderer(source);
  const plan = await planRead(source, render);
  const chunks = await chunksOf(source.resource, render);
  const first = resumePosition(plan, options.position, source.now());
  const notes: ReadNote[] = options.position !== null && first !== options.position ? ['position_discarded'] : [];
  const { lookAhead: count = 3, mayFetchSeveral = () => true } = options;
  const enough = oncePerPage(options.enough ?? (() => false));
  const start = (signal: AbortSignal, hasRoom: () => boolean) => {
    const ahead = createPagesAhead(source, {
      fetch: (request, how) => fetchPage(source, request, { ...how, evaluate, chunks }),
      signal,
      mayFetchSeveral: () => count > 0 && mayFetchSeveral(),
      hasRoom: () => hasRoom() && !endsByRecords(plan),
      isEnough: () => enough.early(),
    });
    return readInOrder({ source, plan, ahead, signal, enough, evaluate, jobs: options.jobs ?? null }, first, notes);
  };
  const isHeavy = ({ bodyBytes }: Fetched) => bodyBytes > heavyBytes;
  const fetched = lookAhead(start, { count, isHeavy, signal: options.signal });
  for await (const { page } of fetched) yield page;
}

/** Whether the values of its records may end or split a window. */
const endsByRecords = ({ cursor }: ReadPlan): boolean =>
  cursor !== null && (cursor.resultCap !== null || (cursor.clientFilter && cursor.order === 'desc'));

/** A page on its way to the consumer. */
interface Fetched {
  readonly page: PageRead;
  /** The bytes of the decoded response. */
  readonly bodyBytes: number;
}

interface Reading {
  readonly source: Source;
  readonly plan: ReadPlan;
  readonly ahead: PagesAhead;
  readonly signal: AbortSignal;
  readonly enough: OncePerPage;
  readonly evaluate: Evaluate;
  readonly jobs: JobPort | null;
}

/** A page for the consumer, or only another position to continue from. */
type Step =
  | { readonly read: PageRead; readonly bodyBytes: number }
  | { readonly retryFrom: ReadPosition; readonly note: ReadNote };

async function* readInOrder(
  reading: Reading,
  first: ReadPosition,
  firstNotes: readonly ReadNote[],
): AsyncGenerator<Fetched, void, undefined> {
  await using _ahead = reading.ahead;
  const { source, plan, jobs, evaluate, signal } = reading;
  let position: ReadPosition | null = first;
  let guard = createPageGuard(first.guard);
  let notes = firstNotes;
  let report: ReportWindow | null = null;
  while (position !== null) {
    signal.throwIfAborted();
    if (reading.enough.atTurn()) return;
    if (position.page.index === 1) guard = createPageGuard(position.guard);
    let step: Step | null = null;
    if (source.resource.job && report?.position.windowNo !== position.windowNo) {
      const roots = sentRoots(plan, position);
      report = await prepareWindow(source, position, { port: jobs, roots, evaluate, signal });
      if (report === null) step = { retryFrom: restartWindow(plan, position), note: 'window_restarted' };
      else position = report.position;
    }
    step ??= await readOne(reading, position, { guard, report });
    if ('retryFrom' in step) {
      position = step.retryFrom;
      // What the job said may be too old.
      report = null;
      notes = [...notes, step.note];
      continue;
    }
    yield { page: { ...step.read, notes: [...notes, ...step.read.notes] }, bodyBytes: step.bodyBytes };
    notes = [];
    position = step.read.positionAfter;
  }
}

/** What is known of the window besides its position. */
interface WindowState {
  readonly guard: PageGuard;
  /** The report that it is read from; null: it is read from none. */
  readonly report: ReportWindow | null;
}

async function readOne(reading: Reading, position: ReadPosition, state: WindowState): Promise<Step> {
  const { plan, ahead } = reading;
  const { pagination } = reading.source.resource;
  const request = requestAt(plan, position);
  if (state.report?.isEmpty) return await stepOf(reading, emptyReport, { request, position, ...state });
  const page = await ahead.take(request);
  switch (page.kind) {
    case 'expired':
      return page.what === 'page'
        ? { retryFrom: restartWindow(plan, position), note: 'window_restarted' }
        : { retryFrom: restartFromStart(plan, position), note: 'token_expired' };
    case 'too_large':
      return { retryFrom: { ...position, page: smallerPage(pagination, position.page) }, note: 'page_shrunk' };
    case 'empty': {
      // One window or part without records says nothing about the others.
      const { notModified, ...facts } = page;
      const nothing = { ...emptyReport, ...facts, kind: 'records' } as const;
      const gaps: Gaps = [notModified ? 'not_modified' : 'list_missing'];
      const isUnchanged = notModified && page.isConditional;
      const step = await stepOf(reading, nothing, { request, position, ...state, gaps, isUnchanged });
      return 'read' in step ? { ...step, read: { ...step.read, notModified } } : step;
    }
    case 'past_end': {
      const nothing = { ...emptyReport, ...page, kind: 'records' } as const;
      const gaps: Gaps = page.isCertain ? [] : ['page_short'];
      return await stepOf(reading, nothing, { request, position, ...state, gaps });
    }
    case 'skipped':
      return { read: skippedRead(position, page), bodyBytes: 0 };
    case 'records':
      return await stepOf(reading, page, { request, position, ...state });
  }
}

/** A page and its place. */
interface PageState extends WindowState {
  readonly request: PageRequest;
  readonly position: ReadPosition;
  /** Why it does not show everything; absent: its records tell. */
  readonly gaps?: Gaps;
  /** The API has said of the whole list that it has not changed. */
  readonly isUnchanged?: boolean;
}

async function stepOf(
  { plan, source, ahead }: Reading,
  page: Extract<Page, { kind: 'records' }>,
  at: PageState,
): Promise<Step> {
  const { request, position, guard, report, isUnchanged = false } = at;
  const { cursor } = plan;
  if (cursor && position.page.index === 1 && mustSplit(position, cursor, page.total))
    return { retryFrom: splitWindow(position, cursor, page.total ?? 0), note: 'window_split' };
  const seen = cursor ? await readCursors(page.records, cursor, position) : withoutCursors(page.records);
  const repeated = repetitionOf(page, at, source);
  const following = repeated !== 'no' || seen.belowWindow ? null : page.next;
  if (following === null) ahead.drop();
  else ahead.prefetch({ request, page, next: following });
  const job = following === null ? nextPart(position.job, report?.parts ?? null) : null;
  const next = job ? firstPageLike(plan.firstPage, position.page) : following;
  const { serverDate, token } = page;
  const { pagination } = source.resource;
  const isIncomplete = report?.isIncomplete ?? false;
  const gaps =
    at.gaps ?? pageGaps({ page, position, pagination, repeated, isCut: seen.belowWindow, cursor, isIncomplete });
  if (following === null && cursor && gaps.includes('count_differs') && canSplit(position, cursor))
    return { retryFrom: splitWindow(begunAgain(plan, position), cursor, page.counted ?? 0), note: 'window_split' };
  const facts = {
    ...{ cursors: seen.cursors, next, guard: job ? noPages : guard.state(), serverDate, token },
    ...{ rises: seen.rises, isUnlisted: !isUnchanged && !isListed(gaps), isContradicted: isContradicted(gaps) },
  };
  const moved = advance(plan, position, facts);
  const read = following === null ? undefined : itemsRead(position, page);
  const after = moved.position && { ...moved.position, ...(read !== undefined && { read }), ...(job && { job }) };
  const isWhole = page.next === null && repeated === 'no' && moved.position === null;
  const notes: readonly (ReadNote | Gap | false | undefined)[] = [
    moved.orderBroken && 'order_broken',
    repeated !== 'no' && 'page_repeated',
    seen.withoutCursor > 0 && 'cursor_missing',
    isApart(plan, position, { serverDate, now: source.now() }) && 'clock_apart',
    // Whoever wonders why a watermark stays finds the reason.
    plan.kind !== 'full' && (facts.isUnlisted || facts.isContradicted) && gaps.find((gap) => gap !== 'not_modified'),
  ];
  return {
    bodyBytes: page.bodyBytes,
    read: {
      pageNo: position.pagesRead + 1,
      records: seen.records,
      positionAfter: after,
      watermarkAfter: moved.watermark,
      requestKey: page.requestKey,
      validators:
        position.pagesRead === 0 && isListed(gaps) ? keptValidators(source, page.validators, { isWhole }) : null,
      notModified: false,
      gaps,
      skipped: null,
      notes: notes.filter((note) => note !== false && note !== undefined),
    },
  };
}

/** The rest of the partition is not read, whatever of it is left. */
const skippedRead = (position: ReadPosition, page: Extract<Page, { readonly kind: 'skipped' }>): PageRead => ({
  pageNo: position.pagesRead + 1,
  records: [],
  positionAfter: null,
  watermarkAfter: position.claim,
  requestKey: page.requestKey,
  validators: null,
  notModified: false,
  gaps: ['partition_skipped'],
  skipped: page.reason,
  notes: [],
});

const withoutCursors = (records: readonly unknown[]): CursorPage => ({ ...noCursors, records });

/** `initial` and the fields of chunks see what requests see of the connection. */
function initialRenderer(source: Source): (template: string) => Promise<unknown> {
  const { params, each, lookups, run, evaluator } = source;
  const roots = { params, each, lookups, run, auth: {} };
  return (template) => renderTemplate(template, roots, { evaluator, now: new Date(run.startedAt), missing: 'omit' });
}

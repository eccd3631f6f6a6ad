/**
 * Reads one resource: a position becomes a request, its response becomes records and the next position. The position
 * holds everything that a later process needs, so a read can stop after any page and continue elsewhere without
 * requesting it again.
 */

import { renderTemplate } from '../../expressions/template.ts';
import type { Gaps } from '../../model/coverage.ts';
import type { ReadPlan, ReadPosition } from '../../model/read-position.ts';
import type { ReadNote } from '../../model/run-notes.ts';
import { createEvaluate, type Evaluate } from '../request/evaluate.ts';
import type { Source } from '../source.ts';
import { fetchPage, type PageRequest } from './fetch-page.ts';
import { chunksOf } from './field-chunks.ts';
import { lookAhead } from './look-ahead.ts';
import { type OncePerPage, oncePerPage } from './once-per-page.ts';
import { createPageGuard } from './page-guard.ts';
import type { PageRead } from './page-read.ts';
import { emptyReport, requestAt, sentRoots } from './page-request.ts';
import { heavyBytes } from './page-size.ts';
import { type Step, type Stepping, skippedRead, stepOf, type WindowState } from './page-step.ts';
import { createPagesAhead } from './pages-ahead.ts';
import { planRead } from './read-plan.ts';
import { restartFromStart, restartWindow, resumePosition } from './read-window.ts';
import type { JobPort } from './report-job.ts';
import { prepareWindow, type ReportWindow } from './report-window.ts';
import { smallerPage } from './smaller-page.ts';

export type { PageRead } from './page-read.ts';

export interface ReadOptions {
  /** Where to continue, or `null` for the first page; discarded under another watermark or spec. */
  readonly position: ReadPosition | null;
  readonly signal: AbortSignal;
  /**
   * Pages fetched while the consumer works, by default 3; with 0, no request is sent before the consumer has the
   * previous page.
   */
  readonly lookAhead?: number;
  /** Checked before concurrent requests; false means one at a time for now. */
  readonly mayFetchSeveral?: () => boolean;
  /** Checked before each page is fetched; true stops fetching, but pages already fetched are still yielded. */
  readonly enough?: () => boolean;
  /**
   * Called before the first request with the start of a first read as canonical text; `null` for other reads, or
   * without a start.
   */
  readonly onStart?: (start: string | null) => void;
  /** Without it, the read of a resource with a report job fails. */
  readonly jobs?: JobPort;
}

/**
 * Yields at least one page, and all complete ones before it throws `AppError` or what the HTTP client throws. Leaving
 * the loop early stops the requests in progress.
 */
export async function* readPages(source: Source, options: ReadOptions): AsyncGenerator<PageRead, void, undefined> {
  const evaluate = createEvaluate(source.evaluator, new Date(source.run.startedAt));
  const render = initialRenderer(source);
  const plan = await planRead(source, render);
  const chunks = await chunksOf(source.resource, render);
  const first = resumePosition(plan, options.position, source.now());
  options.onStart?.(plan.cursor && plan.watermarkBefore === null && !plan.backfill ? plan.start : null);
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
    const look = (request: PageRequest) => fetchPage(source, request, { evaluate, chunks, signal, onResponse: noTurn });
    const looksAtOnce = () => (count > 0 && mayFetchSeveral() ? Math.min(source.http.rateLimit.maxConcurrent, 8) : 1);
    const stepping = { source, plan, ahead, look, looksAtOnce, last: { page: null } };
    return readInOrder({ ...stepping, signal, enough, evaluate, jobs: options.jobs ?? null }, first, notes);
  };
  const isHeavy = ({ bodyBytes }: Fetched) => bodyBytes > heavyBytes;
  const fetched = lookAhead(start, { count, isHeavy, signal: options.signal });
  for await (const { page } of fetched) yield page;
}

const noTurn = async (): Promise<void> => {};

/** Whether the values of records may end or split a window. */
const endsByRecords = ({ cursor }: ReadPlan): boolean =>
  cursor !== null && (cursor.resultCap !== null || (cursor.clientFilter && cursor.order === 'desc'));

interface Fetched {
  readonly page: PageRead;
  readonly bodyBytes: number;
}

interface Reading extends Stepping {
  readonly signal: AbortSignal;
  readonly enough: OncePerPage;
  readonly evaluate: Evaluate;
  readonly jobs: JobPort | null;
}

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
      guard = createPageGuard(position.guard);
      // The result of the last poll may be too old.
      report = null;
      if (step.note !== null) notes = [...notes, step.note];
      continue;
    }
    yield { page: { ...step.read, notes: [...notes, ...step.read.notes] }, bodyBytes: step.bodyBytes };
    notes = [];
    position = step.read.positionAfter;
  }
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

/** `initial` and the fields of chunks see the same values of the connection as requests. */
function initialRenderer(source: Source): (template: string) => Promise<unknown> {
  const { params, each, lookups, run, evaluator } = source;
  const roots = { params, each, lookups, run, auth: {} };
  return (template) => renderTemplate(template, roots, { evaluator, now: new Date(run.startedAt), missing: 'omit' });
}

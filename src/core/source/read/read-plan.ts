import { AppError } from '../../errors.ts';
import { textOf } from '../../json/json-text.ts';
import { type CursorPlan, type ReadPlan } from '../../model/read-position.ts';
import { durationMs } from '../../spec/schema/duration.ts';
import type { Incremental } from '../../spec/schema/incremental-schema.ts';
import { compareCursors, cursorOfText, cursorText, parseInitialCursor } from '../cursor/cursor-value.ts';
import type { Source } from '../source.ts';
import { isMovable } from './movable.ts';
import { firstPage } from './paginate.ts';
import { readFingerprint } from './read-fingerprint.ts';

type CursorIncremental = Extract<Incremental, { kind: 'cursor' }>;

/** Throws `spec_invalid` for an unreadable `initial` or duration. */
export async function planRead(source: Source, render: (template: string) => Promise<unknown>): Promise<ReadPlan> {
  const { resource, each, watermark, specChecksum, backfill, earlier } = source;
  const { incremental } = resource;
  const cursor = incremental?.kind === 'cursor' ? cursorPlan(incremental, source) : null;
  const startedAt = new Date(source.run.startedAt);
  const readsAll = source.readsAll === true && incremental !== undefined;
  const declared = backfill?.from ?? (await startOf(incremental, { cursor, render, startedAt }));
  const start = declared !== null && cursor ? canonical(declared, cursor) : declared;
  return {
    fingerprint: readFingerprint({
      resourceKey: resource.key,
      partition: each,
      watermarkBefore: watermark,
      specChecksum,
      backfillFrom: readsAll && backfill === null ? null : backfill?.from,
      isNumbered: isMovable(source),
      masked: source.masked,
    }),
    kind: incremental?.kind ?? 'full',
    cursor,
    watermarkBefore: watermark,
    start: backfill?.from || !cursor ? start : earliest(start, earlier?.firstStart ?? null, cursor),
    sentWatermark: source.sentWatermark ?? null,
    readAt: earlier?.readAt ?? null,
    backfill: backfill !== null || readsAll,
    // A record whose deletion is held back may exist again above the watermark.
    isOpen: readsAll || backfill?.force === true,
    startsOver: source.startsOver === true,
    firstPage: firstPage(resource.pagination),
  };
}

function cursorPlan(incremental: CursorIncremental, source: Source): CursorPlan {
  const { pagination } = source.resource;
  const { cursor, order, window, resultCap, retention, clientFilter } = incremental;
  return {
    form: cursor,
    field: cursor.field ?? null,
    missing: cursor.missing,
    order,
    settleMs: lengthOf(incremental.settle),
    ...lookbackOf(incremental.lookback),
    window: window ? { sizeMs: lengthOf(window.size), overlapMs: lengthOf(window.overlap) } : null,
    resultCap: resultCap ?? null,
    retention: retention ? { maxAgeMs: lengthOf(retention.maxAge), onExceeded: retention.onExceeded } : null,
    clientFilter,
    overlap: pagination.kind === 'offset' && (pagination.overlap ?? 0) > 0,
    claimsAtEnd: pagination.kind === 'page' && isMovable(source),
  };
}

/** Canonical for a cursor, unchanged for a token, and `null` without a lower bound. */
async function startOf(
  incremental: Incremental | undefined,
  options: {
    readonly cursor: CursorPlan | null;
    readonly render: (template: string) => Promise<unknown>;
    readonly startedAt: Date;
  },
): Promise<string | null> {
  const { initial } = incremental ?? {};
  if (initial === undefined) return null;
  const ago = typeof initial === 'string' ? /^now(?:-(P.+))?$/.exec(initial.trim()) : null;
  if (ago) return new Date(options.startedAt.getTime() - (ago[1] === undefined ? 0 : lengthOf(ago[1]))).toISOString();
  const value = typeof initial === 'string' ? await options.render(initial) : initial;
  if (value === null || value === undefined || value === '') return null;
  return options.cursor === null ? textOf(value) : canonical(value, options.cursor);
}

/** The start of the first read, unless the spec now names an earlier one: the records in between were never read. */
function earliest(start: string | null, first: string | null, cursor: CursorPlan): string | null {
  const value = cursorOfText(start, cursor.form);
  const before = cursorOfText(first, cursor.form);
  return value === null || before === null || compareCursors(value, before) <= 0 ? start : first;
}

const lookbackOf = (lookback: string | number): Pick<CursorPlan, 'lookbackMs' | 'lookbackUnits'> =>
  typeof lookback === 'number'
    ? { lookbackMs: 0, lookbackUnits: lookback }
    : { lookbackMs: lengthOf(lookback), lookbackUnits: 0 };

function canonical(raw: unknown, cursor: CursorPlan): string {
  const value = parseInitialCursor(raw, cursor.form);
  if (value !== null) return cursorText(value, cursor.form);
  const message = `The start of the read is not a value of a cursor of type ${cursor.form.type}.`;
  throw new AppError('spec_invalid', `${message} Correct incremental.initial, or the parameter it takes.`);
}

function lengthOf(duration: string): number {
  const ms = durationMs(duration);
  if (ms !== null) return ms;
  throw new AppError('spec_invalid', `"${duration}" is not a duration such as P30D or PT90S.`);
}

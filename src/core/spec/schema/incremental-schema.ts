import * as v from 'valibot';
import { FieldPath } from '../../json/property-names.ts';
import { resolveTimezone } from '../../schedule/timezone.ts';
import { strictObject } from '../../strict-object.ts';
import { timeFormatIssue } from '../../time/time-format.ts';
import { Duration } from './duration.ts';
import { Expression, HttpStatuses, Template } from './http-schema.ts';

/** The types a cursor value can have. */
export const CursorType = v.picklist(['datetime', 'date', 'epoch_s', 'epoch_ms', 'integer', 'string']);
export type CursorType = v.InferOutput<typeof CursorType>;

/** The form in which requests carry cursor values. */
const CursorForm = v.picklist(['iso', 'date', 'epoch_s', 'epoch_ms', 'raw']);
type CursorForm = v.InferOutput<typeof CursorForm>;

const ownForm: Readonly<Record<CursorType, CursorForm>> = {
  datetime: 'iso',
  date: 'date',
  epoch_s: 'epoch_s',
  epoch_ms: 'epoch_ms',
  integer: 'raw',
  string: 'raw',
};

/** The message names a directive that is unknown or repeated. */
const TimeFormatCheck = v.check(
  (format: string) => timeFormatIssue(format) === null,
  ({ input }) => timeFormatIssue(input) ?? 'expected a time format',
);

const Cursor = v.pipe(
  strictObject({
    /** After map and addFields; absent only with `window`. */
    field: v.exactOptional(FieldPath),
    type: CursorType,
    format: v.exactOptional(v.pipe(v.string(), v.minLength(1), v.maxLength(100), TimeFormatCheck)),
    /** IANA zone of values without an offset; absent: UTC. */
    timezone: v.exactOptional(
      v.pipe(
        v.string(),
        v.check((name) => resolveTimezone(name) !== null, 'expected an IANA time zone such as Europe/Berlin'),
      ),
    ),
    sendAs: v.exactOptional(CursorForm),
    /** A record without a cursor value. */
    missing: v.optional(v.picklist(['include', 'exclude', 'fail']), 'include'),
  }),
  v.transform((cursor) => ({ ...cursor, sendAs: cursor.sendAs ?? ownForm[cursor.type] })),
);

/** A template, a number, or `now-<Duration>`. */
const Initial = v.union([Template, v.number()], 'expected a template, a number or now-<Duration>');

const CursorIncremental = v.pipe(
  strictObject({
    kind: v.literal('cursor'),
    cursor: Cursor,
    /** Absent: the beginning of time; the parameter is left out of the request. */
    initial: v.exactOptional(Initial),
    /** The order by this cursor in which the API returns records. */
    order: v.picklist(['asc', 'desc', 'none']),
    /** How long records need to become visible in the API after their cursor time. */
    settle: v.exactOptional(Duration),
    lookback: v.optional(Duration, 'PT0S'),
    window: v.exactOptional(strictObject({ size: Duration, overlap: v.optional(Duration, 'PT0S') })),
    resultCap: v.exactOptional(
      strictObject({
        records: v.pipe(v.number(), v.safeInteger(), v.minValue(1)),
        onReached: v.optional(v.picklist(['split', 'fail']), 'split'),
      }),
    ),
    retention: v.exactOptional(
      strictObject({ maxAge: Duration, onExceeded: v.optional(v.picklist(['fail', 'full']), 'fail') }),
    ),
    clientFilter: v.optional(v.boolean(), false),
  }),
  v.transform((incremental) => ({
    ...incremental,
    settle: incremental.settle ?? (isTimeCursor(incremental.cursor.type) ? 'PT30S' : 'PT0S'),
  })),
);

const TokenIncremental = strictObject({
  kind: v.literal('token'),
  next: Expression,
  initial: v.exactOptional(Initial),
  /** The API no longer knows our token. */
  expired: v.optional(
    strictObject({
      status: v.optional(HttpStatuses, [410]),
      expr: v.exactOptional(Expression),
      action: v.optional(v.picklist(['full', 'fail']), 'full'),
    }),
    {},
  ),
});

/** How a read starts where the last one ended. */
export const Incremental = v.variant('kind', [CursorIncremental, TokenIncremental]);
export type Incremental = v.InferOutput<typeof Incremental>;

/** Whether values of this type are instants or days, and not numbers or texts that only have an order. */
export const isTimeCursor = (type: CursorType): boolean => type !== 'integer' && type !== 'string';

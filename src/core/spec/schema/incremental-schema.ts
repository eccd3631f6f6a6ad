import * as v from 'valibot';
import { resolveTimezone } from '../../schedule/timezone.ts';
import { timeFormatIssue } from '../../time/time-format.ts';
import { Duration } from './duration.ts';
import { field, when } from './field.ts';
import { Expression, HttpStatuses, Template } from './http-schema.ts';
import { FieldPath } from './names.ts';
import { strictObject } from './strict-object.ts';

export const CursorType = v.picklist(['datetime', 'date', 'epoch_s', 'epoch_ms', 'integer', 'string']);
export type CursorType = v.InferOutput<typeof CursorType>;

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

const TimeFormatCheck = v.check(
  (format: string) => timeFormatIssue(format) === null,
  ({ input }) => timeFormatIssue(input) ?? 'expected a time format',
);

/** The same check for editors: known directives, each at most once; `%T` and `%F` stand for several. */
const timeFormatPattern = (() => {
  const some = '(?:[^%]|%.)*';
  const twice = [
    ...['YF', 'mF', 'dF', 'HT', 'MT', 'ST'].map((same) => `%[${same}]${some}%[${same}]`),
    `%(\\w)${some}%\\1`,
  ];
  return `^${twice.map((both) => `(?!${some}${both})`).join('')}(?:[^%]|%[%YmdeHIMSbBaAyfpzsTF])+$`;
})();

const Cursor = v.pipe(
  field(
    strictObject({
      field: field(
        v.exactOptional(FieldPath),
        'Where a record has its cursor value, after `map` and `addFields`. Absent only with `window`: then the end of a window is the watermark.',
        'updated_at',
      ),
      type: field(
        CursorType,
        'The type of the value. `epoch_s` and `epoch_ms` are numbers of seconds and milliseconds since 1970. `string`: texts of up to 1024 characters, in their order.',
      ),
      format: field(
        v.exactOptional(
          v.pipe(
            v.string(),
            v.minLength(1),
            v.maxLength(100),
            TimeFormatCheck,
            v.metadata({ pattern: timeFormatPattern }),
          ),
        ),
        'The form of times that are not ISO 8601, by directives such as `%d/%m/%Y %H:%M`. Absent: ISO 8601.',
        '%d/%m/%Y %T',
      ),
      timezone: field(
        v.exactOptional(
          v.pipe(
            v.string(),
            v.check((name) => resolveTimezone(name) !== null, 'expected an IANA time zone such as Europe/Berlin'),
            v.metadata({ pattern: '^[A-Za-z]', maxLength: 100 }),
          ),
        ),
        'IANA zone of values without an offset. Absent: UTC.',
        'Europe/Berlin',
      ),
      sendAs: field(
        v.exactOptional(CursorForm),
        'The form in which requests carry the value. Absent: `iso` for datetime, `date` for date, the same number for the others. A lower bound is rounded down to a value that records have: the begin of a day, a full minute.',
      ),
      missing: field(
        v.optional(v.picklist(['include', 'exclude', 'fail']), 'include'),
        'What happens with a record without a cursor value: it is delivered, skipped, or the run fails.',
      ),
    }),
    'The value, and how requests carry it.',
    { field: 'updated_at', type: 'datetime' },
  ),
  v.transform((cursor) => ({ ...cursor, sendAs: cursor.sendAs ?? ownForm[cursor.type] })),
);

const Initial = v.union([Template, v.number()], 'expected a template, a number or now-<Duration>');

const CursorIncremental = v.pipe(
  strictObject({
    kind: field(
      v.literal('cursor'),
      'Records have a value that grows with every change. The watermark is the greatest one of a complete read; the next run reads from it on, inclusively, and skips what has not changed.',
    ),
    cursor: Cursor,
    initial: field(
      v.exactOptional(Initial),
      'Where the first run begins: a template, a number, or `now-<Duration>`, which counts from the first request of a partition. Absent: the beginning of time; the parameter is left out of the request.',
      '{{ params.startDate }}',
    ),
    order: field(
      v.picklist(['asc', 'desc', 'none']),
      'The order by this cursor in which the API returns records. With `asc` the watermark advances with every page (with page numbers only where `pagination.stable` is true), otherwise at the end of a window. A record out of order ends that for the run.',
    ),
    settle: field(
      v.exactOptional(Duration),
      'How long records need to become visible in the API after their cursor time: the watermark stays that far behind the start of the run. Absent: PT30S for times, PT0S for numbers and texts.',
      'PT2M',
    ),
    lookback: field(
      v.optional(
        v.union(
          [Duration, v.pipe(v.number(), v.safeInteger(), v.minValue(0))],
          'expected a duration or a whole number',
        ),
        'PT0S',
      ),
      'How far before the watermark each run reads again, for records that appear late: a duration for times, a whole number for the type `integer`.',
      'PT10M',
    ),
    window: field(
      v.exactOptional(
        strictObject({
          size: field(Duration, 'The length of one window; more than zero.', 'P30D'),
          overlap: field(v.optional(Duration, 'PT0S'), 'How far a window reaches into the one before it.'),
        }),
      ),
      'Reads from `window.from` to `window.to` piece by piece; both reach the request as templates. Absent: one window up to the start of the run.',
      { size: 'P30D' },
    ),
    resultCap: field(
      v.exactOptional(
        strictObject({
          records: field(
            v.pipe(v.number(), v.safeInteger(), v.minValue(1)),
            'The greatest number of records of one result.',
            10_000,
          ),
          onReached: field(
            v.optional(v.picklist(['split', 'fail']), 'split'),
            'A window with more is split in two halves, or fails the run.',
          ),
        }),
      ),
      'The API cuts results at this size. Needs `window` and `response.total`. Absent: it does not.',
      { records: 10_000 },
    ),
    retention: field(
      v.exactOptional(
        strictObject({
          maxAge: field(Duration, 'The age of the oldest records that the API still has.', 'P30D'),
          onExceeded: field(
            v.optional(v.picklist(['fail', 'full']), 'fail'),
            'What happens when the watermark is older, and so is the last complete read: the run fails, or reads from the beginning.',
          ),
        }),
      ),
      'The API forgets changes after some time. Absent: it does not.',
      { maxAge: 'P30D' },
    ),
    clientFilter: field(
      v.optional(v.boolean(), false),
      'True: the API cannot filter by the cursor; records below the window are read and skipped here. With `order: desc` the read ends where most of a page is below, and `missing` is `exclude` or `fail`.',
    ),
  }),
  v.metadata(
    when({ not: { required: ['window'] } }, { properties: { resultCap: false, cursor: { required: ['field'] } } }),
  ),
  v.transform((incremental) => ({
    ...incremental,
    settle: incremental.settle ?? (isTimeCursor(incremental.cursor.type) ? 'PT30S' : 'PT0S'),
  })),
);

const TokenIncremental = strictObject({
  kind: field(
    v.literal('token'),
    'The API gives a token for the changes since a read. The token of the last page is the watermark.',
  ),
  next: field(Expression, 'The token, from each response.', 'body.sync_token'),
  initial: field(
    v.exactOptional(Initial),
    'The token of the first run. Absent: `watermark` is missing in its request.',
    '0',
  ),
  expired: field(
    v.optional(
      strictObject({
        status: field(v.optional(HttpStatuses, [410]), 'The statuses with which the API says that.'),
        expr: field(
          v.exactOptional(Expression),
          'True for such a response. Absent: the status decides.',
          "body.error = 'expired'",
        ),
        action: field(
          v.optional(v.picklist(['full', 'fail']), 'full'),
          'A full read, in which unchanged records are skipped; or the run fails.',
        ),
      }),
      {},
    ),
    'How the API says that it no longer knows a token, and what happens then.',
    { status: [410], action: 'full' },
  ),
});

export const Incremental = v.variant('kind', [CursorIncremental, TokenIncremental]);
export type Incremental = v.InferOutput<typeof Incremental>;

/** Whether values of this type are instants or days, not numbers or texts that only have an order. */
export const isTimeCursor = (type: CursorType): boolean => type !== 'integer' && type !== 'string';

import { afterAll, describe, expect, test } from 'vitest';
import { createTestEvaluator } from '../../expressions/evaluator-fixture.ts';
import { imported, mock, queryOption, refusalOf, resourceOf, runImported, streamOf } from './airbyte-fixture.ts';

const evaluator = createTestEvaluator();
const run = runImported(evaluator);
afterAll(() => evaluator[Symbol.asyncDispose]());

const cursor = (more: object = {}) => ({
  type: 'DatetimeBasedCursor',
  cursor_field: 'at',
  datetime_format: '%Y-%m-%dT%H:%M:%SZ',
  start_datetime: "{{ config['start_date'] }}",
  ...more,
});

describe('the cursor of an imported stream', () => {
  test('bounds the request from the start to now, in the format of the manifest', async () => {
    const incremental_sync = cursor({ start_time_option: queryOption('since'), end_time_option: queryOption('until') });
    const issues = await run(imported([streamOf({ stream: { incremental_sync } })]), {
      params: { start_date: '2026-01-01T00:00:00Z' },
      now: '2026-01-02T03:04:05Z',
      mocks: [mock('/items', { data: [{ id: 1, at: '2026-01-01T10:00:00Z' }] })],
      expect: {
        requests: [{ query: { since: '2026-01-01T00:00:00Z', until: '2026-01-02T03:04:05Z' } }],
        watermarkAfter: '2026-01-01T10:00:00.000Z',
      },
    });
    expect(issues).toEqual([]);
  });

  test('begins at a time that an expression writes in quotes', async () => {
    const start_datetime = {
      datetime: `{%- set day = config.get('start_date', '2026-01-01') -%} "{{ max(day, '2026-01-05') }}"`,
      datetime_format: '%Y-%m-%d',
    };
    const incremental_sync = cursor({ start_time_option: queryOption('since'), start_datetime });
    const issues = await run(imported([streamOf({ stream: { incremental_sync } })]), {
      mocks: [mock('/items', { data: [] })],
      now: '2026-01-09T00:00:00Z',
      expect: { requests: [{ query: { since: '2026-01-05T00:00:00Z' } }] },
    });
    expect(issues).toEqual([]);
  });

  test('continues at the watermark, less the lookback', async () => {
    const incremental_sync = cursor({
      start_time_option: queryOption('since'),
      lookback_window: 'P1D',
      datetime_format: '%s',
    });
    const result = imported([
      streamOf({
        stream: {
          incremental_sync: {
            ...incremental_sync,
            start_datetime: { datetime: '2020-01-01', datetime_format: '%Y-%m-%d' },
          },
        },
      }),
    ]);
    const issues = await run(result, {
      watermark: '2026-01-02T00:00:00.000Z',
      now: '2026-01-03T00:00:00Z',
      mocks: [mock('/items', { data: [] })],
      expect: { requests: [{ query: { since: Date.UTC(2026, 0, 1) / 1000 } }] },
    });
    expect(issues).toEqual([]);
  });

  test('reads windows that end one granularity before the next begins', async () => {
    const incremental_sync = cursor({
      start_time_option: queryOption('since'),
      end_time_option: queryOption('until'),
      step: 'P1D',
      cursor_granularity: 'PT1S',
    });
    const issues = await run(imported([streamOf({ stream: { incremental_sync } })]), {
      params: { start_date: '2026-01-01T00:00:00Z' },
      now: '2026-01-02T12:00:00Z',
      mocks: [mock('/items', { data: [] })],
      expect: {
        requests: [
          { query: { since: '2026-01-01T00:00:00Z', until: '2026-01-01T23:59:59Z' } },
          { query: { since: '2026-01-02T00:00:00Z', until: '2026-01-02T12:00:00Z' } },
        ],
      },
    });
    expect(issues).toEqual([]);
  });

  test.each([
    ['%Y-%m-%dT%H:%M:%S.%fZ', '2026-01-01T23:59:59.999999Z', '2026-01-02T12:00:00.000000Z'],
    ['%Y-%m-%dT%H:%M:%SZ', '2026-01-01T23:59:59Z', '2026-01-02T12:00:00Z'],
    ['%ms', Date.UTC(2026, 0, 2) - 1, Date.UTC(2026, 0, 2, 12)],
  ])('ends windows of one microsecond between them in the format %s', async (datetime_format, first, last) => {
    const incremental_sync = cursor({
      datetime_format,
      start_datetime: { datetime: '2026-01-01', datetime_format: '%Y-%m-%d' },
      end_time_option: queryOption('until'),
      step: 'P1D',
      cursor_granularity: 'PT0.000001S',
    });
    const issues = await run(imported([streamOf({ stream: { incremental_sync } })]), {
      now: '2026-01-02T12:00:00Z',
      mocks: [mock('/items', { data: [] })],
      expect: { requests: [{ query: { until: first } }, { query: { until: last } }] },
    });
    expect(issues).toEqual([]);
  });

  test('filters here where the API cannot, and reads values in several forms', async () => {
    const incremental_sync = cursor({
      is_client_side_incremental: true,
      cursor_datetime_formats: ['%s', '%Y-%m-%dT%H:%M:%SZ'],
    });
    const issues = await run(imported([streamOf({ stream: { incremental_sync } })]), {
      params: { start_date: '2026-01-01T00:00:00Z' },
      now: '2026-02-01T00:00:00Z',
      mocks: [
        mock('/items', {
          data: [
            { id: 1, at: 1_700_000_000 },
            { id: 2, at: 1_767_312_000 },
            { id: 3, at: '2026-01-05T00:00:00Z' },
          ],
        }),
      ],
      expect: { delivered: [{ id: 2, at: 1_767_312_000 }, { id: 3 }], watermarkAfter: '2026-01-05T00:00:00.000Z' },
    });
    expect(issues).toEqual([]);
  });

  test('is read with a space before its offset', async () => {
    const incremental_sync = cursor({
      cursor_datetime_formats: ['%Y-%m-%d %H:%M:%S %z', '%Y-%m-%dT%H:%M:%S.%f%z'],
    });
    const data = [
      { id: 1, at: '2026-01-05 10:00:00 +02:00' },
      { id: 2, at: '2026-01-05T07:00:00.5+00:00' },
    ];
    const issues = await run(imported([streamOf({ stream: { incremental_sync } })]), {
      params: { start_date: '2026-01-01T00:00:00Z' },
      now: '2026-02-01T00:00:00Z',
      mocks: [mock('/items', { data })],
      expect: { delivered: data, watermarkAfter: '2026-01-05T08:00:00.000Z' },
    });
    expect(issues).toEqual([]);
  });

  test('filters here from the default of a lookback that a connection decides', async () => {
    const incremental_sync = cursor({
      is_client_side_incremental: true,
      lookback_window: "P{{ config.get('days', 2) }}D",
    });
    const result = imported([streamOf({ stream: { incremental_sync } })]);
    expect(resourceOf(result)['incremental']).toMatchObject({ lookback: 'P2D', clientFilter: true });
    expect(resourceOf(result)['description']).toContain('by default');
  });

  test('of a stream that is read by state in two ways is left out: every run reads all from the start', async () => {
    const whole = streamOf({ stream: { incremental_sync: cursor({ start_time_option: queryOption('since') }) } });
    const result = imported([
      { type: 'StateDelegatingStream', name: 'items', full_refresh_stream: whole, incremental_stream: whole },
    ]);
    expect(resourceOf(result)['incremental']).toBeUndefined();
    const issues = await run(result, {
      params: { start_date: '2026-01-01T00:00:00Z' },
      mocks: [mock('/items', { data: [] })],
      expect: { requests: [{ query: { since: '2026-01-01T00:00:00Z' } }] },
    });
    expect(issues).toEqual([]);
  });

  test.each([
    ['nothing in a first run', null, null],
    ['the watermark in a later one', '2026-01-02T03:04:05.000Z', '2026-01-02 03:04:05'],
  ])('is `stream_state` in requests: %s', async (_, watermark, since) => {
    const stream = streamOf({
      stream: {
        incremental_sync: cursor({ datetime_format: '%Y-%m-%d %H:%M:%S', start_datetime: '2020-01-01 00:00:00' }),
      },
      requester: { request_parameters: { since: "{{ stream_state['at'] }}", other: "{{ stream_state['b'] }}" } },
    });
    const issues = await run(imported([stream]), {
      ...(watermark === null ? {} : { watermark }),
      now: '2026-01-03T00:00:00Z',
      mocks: [mock('/items', { data: [] })],
      expect: { requests: [{ query: { since, other: null } }] },
    });
    expect(issues).toEqual([]);
  });

  test('is refused as `stream_state` of a request that says where a window ends', () => {
    const incremental_sync = cursor({ end_time_option: queryOption('until'), step: 'P1D', cursor_granularity: 'PT1S' });
    const requester = { request_parameters: { since: "{{ stream_state['at'] }}" } };
    expect(refusalOf(imported([streamOf({ stream: { incremental_sync }, requester })]))[0]).toBe(
      'streams.0.incremental_sync.step',
    );
  });

  test('ends windows as for a connection that sets no end', async () => {
    const incremental_sync = cursor({
      start_time_option: queryOption('since'),
      end_time_option: queryOption('until'),
      end_datetime: "{{ config.get('end_date', now_utc().strftime('%Y-%m-%dT%H:%M:%SZ')) }}",
      step: 'P1D',
    });
    const result = imported([streamOf({ stream: { incremental_sync } })]);
    expect(JSON.stringify(result.spec)).not.toContain('end_date');
    expect(resourceOf(result)['description']).toContain('up to now');
    const issues = await run(result, {
      params: { start_date: '2026-01-01T00:00:00Z' },
      now: '2026-01-02T12:00:00Z',
      mocks: [mock('/items', { data: [] })],
      expect: {
        requests: [
          { query: { since: '2026-01-01T00:00:00Z', until: '2026-01-02T00:00:00Z' } },
          { query: { since: '2026-01-02T00:00:00Z', until: '2026-01-02T12:00:00Z' } },
        ],
      },
    });
    expect(issues).toEqual([]);
  });

  test.each([
    ['that every connection decides', "{{ config['end_date'] }}"],
    ['by the value that decides the start', "{{ config.get('start_date') or now_utc() }}"],
  ])('with windows and an end %s is refused', (_, end_datetime) => {
    const incremental_sync = cursor({ end_datetime, step: 'P1D', cursor_granularity: 'PT1S' });
    expect(refusalOf(imported([streamOf({ stream: { incremental_sync } })]))[0]).toBe(
      'streams.0.incremental_sync.end_datetime',
    );
  });
});

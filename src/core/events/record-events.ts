import * as v from 'valibot';
import { cutText } from '../json/cut-text.ts';
import type { DomainEvent } from './envelope.ts';
import { aboutConnection, type EventConnection } from './event-connection.ts';
import type { EventDeclarations } from './event-declaration.ts';
import { exampleConnection, exampleQuarantineId, exampleRun } from './examples.ts';
import type { RunFacts } from './run-events.ts';

/** Records named in one event; the quarantine has all of them. */
export const namedRecordsMax = 20;
/** Issues named per record, and longest path: an event stays far below 64 KiB. */
const issuesMax = 5;
const pathLengthMax = 200;

const Count = v.pipe(v.number(), v.integer(), v.minValue(1));

const RecordsQuarantined = v.object({
  runId: v.string(),
  resourceKey: v.string(),
  count: Count,
  truncated: v.pipe(v.boolean(), v.description('More records were quarantined than are listed here.')),
  records: v.pipe(
    v.array(
      v.object({
        quarantineId: v.string(),
        externalId: v.string(),
        issues: v.array(
          v.object({
            path: v.pipe(v.string(), v.description('Dotted, with array indexes; empty for the record itself.')),
            code: v.pipe(v.string(), v.description('The JSON Schema keyword, or the stage that rejected the record.')),
          }),
        ),
      }),
    ),
    v.maxLength(namedRecordsMax),
  ),
});

const RecordsRequeued = v.object({
  quarantineId: v.pipe(
    v.nullable(v.string()),
    v.description('Null: the retry was for all records of a connection or resource.'),
  ),
  connectionId: v.string(),
  resourceKey: v.pipe(v.nullable(v.string()), v.description('Null: of all resources.')),
  externalId: v.pipe(v.nullable(v.string()), v.description('Null: as for `quarantineId`.')),
  count: Count,
});

/** Issues of a record as its quarantine row keeps them, without any messages. */
const KeptIssues = v.fallback(v.array(v.object({ path: v.string(), keyword: v.optional(v.string(), 'invalid') })), []);

export interface QuarantinedRecord {
  readonly id: string;
  readonly externalId: string;
  readonly validationErrors: unknown;
}

/** An ended run has quarantined records; `records` are the first of them. */
export function recordsQuarantined({
  run,
  connection,
  records,
}: RunFacts & { readonly records: readonly QuarantinedRecord[] }): DomainEvent {
  const named = records.slice(0, namedRecordsMax);
  // A record that came on two pages has one row.
  const count = Math.max(run.statsJson.quarantined, named.length);
  const data: v.InferOutput<typeof RecordsQuarantined> = {
    runId: run.id,
    resourceKey: run.resourceKey,
    count,
    truncated: count > named.length,
    records: named.map(({ id, externalId, validationErrors }) => ({
      quarantineId: id,
      externalId,
      issues: issuesOf(validationErrors),
    })),
  };
  return { ...aboutConnection(connection), type: 'records.quarantined', subject: run.id, runId: run.id, data };
}

const issuesOf = (validationErrors: unknown) =>
  v
    .parse(KeptIssues, validationErrors)
    .slice(0, issuesMax)
    .map(({ path, keyword }) => ({ path: cutText(path, pathLengthMax), code: keyword }));

export interface Requeueing {
  readonly connection: Pick<EventConnection, 'id' | 'workspaceId'>;
  /** The resource of the records; `null` for all resources. */
  readonly resourceKey: string | null;
  /** The record that the call named; `null` unless it was a single one. */
  readonly record: Pick<QuarantinedRecord, 'id' | 'externalId'> | null;
  readonly count: number;
  /** Distinguishes calls. */
  readonly deduplicationId: string;
}

export function recordsRequeued({ connection, resourceKey, record, count, deduplicationId }: Requeueing): DomainEvent {
  const data: v.InferOutput<typeof RecordsRequeued> = {
    quarantineId: record?.id ?? null,
    connectionId: connection.id,
    resourceKey,
    externalId: record?.externalId ?? null,
    count,
  };
  return { ...aboutConnection(connection), type: 'records.requeued', subject: deduplicationId, data };
}

export const recordEvents: EventDeclarations<'records.quarantined' | 'records.requeued'> = {
  'records.quarantined': {
    summary: 'A run that has ended quarantined records; sent before the event of its end.',
    data: RecordsQuarantined,
    example: recordsQuarantined({
      run: { ...exampleRun, statsJson: { ...exampleRun.statsJson, quarantined: 1 } },
      connection: exampleConnection,
      records: [
        {
          id: exampleQuarantineId,
          externalId: '4711',
          validationErrors: [{ path: 'email', keyword: 'format', message: 'must match format "email"' }],
        },
      ],
    }).data,
  },
  'records.requeued': {
    summary: 'Quarantined records were marked for retry.',
    data: RecordsRequeued,
    example: recordsRequeued({
      connection: exampleConnection,
      resourceKey: exampleRun.resourceKey,
      record: { id: exampleQuarantineId, externalId: '4711' },
      count: 1,
      deduplicationId: exampleQuarantineId,
    }).data,
  },
};

import { type Component, partOf, pathAt, refuseType, textOf, valueOf } from '../component.ts';
import type { Config } from '../config/config.ts';
import type { Value } from '../jinja/value.ts';
import { refuse } from '../refusal.ts';
import { type ReadAuth, readAuth } from './auth.ts';
import { readErrorNotes, readErrors, splitShrink } from './errors.ts';
import { type Reading, readIncremental, readsReached } from './incremental.ts';
import { addedTo, leaveOutLater } from './later-pages.ts';
import { readPagination, withShrink } from './pagination.ts';
import { type ParentResource, type Partitions, readPartitions } from './partitions.ts';
import { readPrimaryKey } from './primary-key.ts';
import { refuseShapedParts } from './query-properties.ts';
import { type Records, readRecords } from './records.ts';
import { type JobDraft, readJobNotes, readReportJob } from './report-job.ts';
import { putOption, type RequestDraft, readOption, readRequester, splitQuery } from './request-draft.ts';
import { requestScope, type Slice } from './scopes.ts';
import { moveSecrets } from './secrets.ts';
import { typesOfSchema } from './types-of-schema.ts';

export interface StreamDraft {
  readonly request: RequestDraft;
  /** The report that the request reads; `null` when it reads the records at once. */
  readonly job: JobDraft | null;
  readonly auth: ReadAuth['auth'];
  readonly records: Records;
  readonly primaryKey: readonly string[];
  readonly pagination: Readonly<Record<string, unknown>> | null;
  readonly incremental: Readonly<Record<string, unknown>> | null;
  readonly cursorField: { readonly name: string; readonly code: string } | null;
  readonly forEach: Partitions['forEach'];
  readonly slice: Slice;
  readonly errors: readonly Readonly<Record<string, unknown>>[];
  readonly notes: readonly string[];
  /** Expressions of partition fields that are added to the records for child resources, by field name. */
  readonly partitionFields: Map<string, string>;
  /** The types that scalars are cast to; `null` leaves them unchanged. */
  readonly types: Readonly<Record<string, unknown>> | null;
}

export interface StreamSetting {
  readonly config: Config;
  readonly parentOf: (stream: Component) => ParentResource;
  /** `undefined` if the schema of the stream is not in the document. */
  readonly schemaOf: (stream: Component) => unknown;
  /** Whether every run reads all records, for lack of a watermark. */
  readonly full: boolean;
}

/** Throws `Refusal` at the first component without counterpart. */
export function convertStream(stream: Component, setting: StreamSetting): StreamDraft {
  if (stream.type === 'StateDelegatingStream') return convertDelegating(stream, setting);
  if (stream.type !== 'DeclarativeStream') refuseType(stream, 'DeclarativeStream is converted');
  const retriever = partOf(stream, 'retriever');
  if (retriever === null) return refuse(stream.path, 'it has no retriever');
  if (retriever.type === 'AsyncRetriever') return convertAsync(stream, retriever, setting);
  if (retriever.type !== 'SimpleRetriever') refuseType(retriever, 'SimpleRetriever and AsyncRetriever are converted');
  const requester = partOf(retriever, 'requester');
  if (requester === null) return refuse(retriever.path, 'it has no requester');
  if (requester.type !== 'HttpRequester') refuseType(requester, 'HttpRequester is converted');
  return convertSimple({ stream, retriever, requester }, setting);
}

interface Parts {
  readonly stream: Component;
  readonly retriever: Component;
  readonly requester: Component;
}

/** A stream that is read by state in one of two ways is read whole in each run; unchanged records are skipped. */
function convertDelegating(stream: Component, setting: StreamSetting): StreamDraft {
  const whole = partOf(stream, 'full_refresh_stream');
  if (whole === null) return refuse(stream.path, 'it has no full_refresh_stream');
  const draft = convertStream(whole, { ...setting, full: true });
  return {
    ...draft,
    notes: [
      ...draft.notes,
      'Every run reads all records, as the first run of the manifest does; unchanged records are skipped.',
    ],
  };
}

function convertSimple({ stream, retriever, requester }: Parts, setting: StreamSetting): StreamDraft {
  const { config, full } = setting;
  // The choice of authenticator decides values of the connection, so it comes first.
  const { auth, notes } = readAuth(requester, config);
  const partitions = readPartitions(retriever, setting);
  const reading = readIncremental(stream, { config, full });
  const slice = { ...sliceOf(partitions, reading), isWhole: true, state: stateOf(reading) };
  const request = readRequester(requester, requestScope({ component: requester, config, slice }));
  const filtersByCursor = reading?.filtersHere === true && !full;
  const records = readRecords(stream, retriever, { config, slice, filtersByCursor });
  refuseShapedParts(request, records, retriever.path);
  const added = addedTo(request, () => {
    partitions.put(request);
    putWindow(stream, reading, { config, request });
  });
  splitQuery(request);
  refuseMovingState(stream, request);
  const { errors, when } = splitShrink(readErrors(requester, config), requester.path);
  const pages = readPagination(retriever, { config, records, draft: request });
  const pagination = withShrink(retriever, pages, when);
  leaveOutLater(retriever, { request, added, pagination });
  return {
    ...draftOf(stream, setting, {
      ...{ records, reading, partitions, slice },
      notes: [...notes, ...readErrorNotes(requester)],
      hasEnd: usesEnd(request),
    }),
    request,
    job: null,
    auth: moveSecrets(request, auth, requester.path),
    pagination,
    errors,
  };
}

const sliceOf = ({ slice }: Partitions, reading: Reading | null): Slice => ({
  ...slice,
  inRequest: new Map([...slice.inRequest, ...(reading?.names ?? [])]),
});

/** The fields of `stream_state`. A CDK that still knew it began a first run without any. */
const stateOf = (reading: Reading | null): ReadonlyMap<string, Value> =>
  new Map(reading === null ? [] : [[reading.field, reading.reached]]);

/** Options of the cursor and of partitions are not sent, as in the CDK. */
function convertAsync(stream: Component, retriever: Component, setting: StreamSetting): StreamDraft {
  const { config, full } = setting;
  const notes = readJobNotes(retriever, config);
  const partitions = readPartitions(retriever, setting);
  const reading = readIncremental(stream, { config, full });
  const slice = sliceOf(partitions, reading);
  const filtersByCursor = reading?.filtersHere === true && !full;
  const records = readRecords(stream, retriever, { config, slice, filtersByCursor, ofReport: true });
  const { job, request, auth, errors, pagination } = readReportJob(retriever, { config, slice, records });
  const hasEnd = [job.create, job.poll, request].some(usesEnd);
  return {
    ...draftOf(stream, setting, { records, reading, partitions, slice, notes, hasEnd }),
    request,
    job,
    auth,
    pagination,
    errors,
  };
}

interface StreamParts extends Pick<StreamDraft, 'records' | 'slice' | 'notes'> {
  readonly reading: ReturnType<typeof readIncremental>;
  readonly partitions: Partitions;
  readonly hasEnd: boolean;
}

function draftOf(
  stream: Component,
  { schemaOf, full }: StreamSetting,
  { records, reading, partitions, slice, notes, hasEnd }: StreamParts,
): Omit<StreamDraft, 'request' | 'job' | 'auth' | 'pagination' | 'errors'> {
  const types = records.casts ? typesOfSchema(schemaOf(stream)) : null;
  const incremental = reading === null || full ? null : reading.block(hasEnd);
  return {
    records,
    primaryKey: readPrimaryKey(stream),
    incremental,
    cursorField: incremental === null ? null : (reading?.hidden ?? null),
    forEach: partitions.forEach,
    slice,
    notes: [
      ...notes,
      ...(reading?.notes ?? []),
      ...storeNotes(partitions),
      ...(records.casts && types === null ? [uncast] : []),
    ],
    types,
    partitionFields: new Map(),
  };
}

const uncast = 'Values are delivered as the API sends them: the manifest casts them by a schema that is not in it.';

const storeNotes = ({ forEach }: Partitions): readonly string[] =>
  JSON.stringify(forEach).includes('"from":"store"')
    ? ['Sync the parent resource first: only its stored records, and of these the changed ones, are read.']
    : [];

function putWindow(
  stream: Component,
  reading: Reading | null,
  { config, request }: { readonly config: Config; readonly request: RequestDraft },
): void {
  const cursor = partOf(stream, 'incremental_sync');
  if (cursor === null || reading === null) return;
  const bounds = [
    ['start_time_option', reading.start],
    ['start_value_option', reading.start],
    ['end_time_option', reading.end],
  ] as const;
  for (const [key, value] of bounds) {
    const option = partOf(cursor, key);
    if (option !== null && value !== null) putOption(request, readOption(option, config), value, option.path);
  }
}

const usesEnd = (request: RequestDraft): boolean =>
  JSON.stringify([request.base, request.path, request.query, request.headers, request.body]).includes('window.to');

/** A CDK that knew `stream_state` moved it from window to window. */
function refuseMovingState(stream: Component, request: RequestDraft): void {
  const cursor = partOf(stream, 'incremental_sync');
  if (cursor !== null && textOf(cursor, 'step') !== undefined && usesEnd(request) && readsReached(request))
    refuse(pathAt(cursor, 'step'), '`stream_state` moves from window to window, which has no counterpart');
}

export function nameOf(stream: Component): string {
  const value = valueOf(stream, 'name');
  return typeof value === 'string' ? value : (textOf(stream, 'name') ?? '');
}

import { type Component, partOf, pathAt, refuseType, valueOf } from '../component.ts';
import type { Config } from '../config/config.ts';
import { constant, pathValue, type Value } from '../jinja/value.ts';
import { refuse } from '../refusal.ts';
import { type ReadAuth, readAuth } from './auth.ts';
import { readErrorNotes, readErrors, splitShrink } from './errors.ts';
import { withResponses } from './job-responses.ts';
import { readStatuses, readTimeout, valuePath } from './job-state.ts';
import { readPagination } from './pagination.ts';
import { type Records, readDecoder } from './records.ts';
import { type RequestDraft, readRequester, splitQuery } from './request-draft.ts';
import { noSlice, requestScope, type Slice } from './scopes.ts';
import { moveSecrets } from './secrets.ts';

export interface JobDraft {
  readonly create: RequestDraft;
  /** The rules of the resource by default. */
  readonly createErrors?: readonly Rule[];
  readonly poll: RequestDraft;
  readonly pollErrors?: readonly Rule[];
  readonly id: string;
  readonly status: string;
  readonly completed: readonly string[];
  readonly failed: readonly string[];
  readonly emptyWhen?: string;
  readonly parts?: string;
  readonly values?: Readonly<Record<string, string>>;
  readonly signRequest?: boolean;
  readonly timeoutSeconds: number;
}

type Rule = ReturnType<typeof readErrors>[number];

interface ReadJob {
  readonly job: JobDraft;
  readonly request: RequestDraft;
  readonly auth: ReadAuth['auth'];
  readonly errors: ReturnType<typeof readErrors>;
  readonly pagination: ReturnType<typeof readPagination>;
}

interface Setting {
  readonly config: Config;
  readonly slice: Slice;
  readonly records: Records;
}

const requesterKeys = ['creation_requester', 'polling_requester', 'download_requester'] as const;

export function readJobNotes(retriever: Component, config: Config): readonly string[] {
  const requesters = requesterKeys.map((key) => requesterOf(retriever, key));
  const [creation] = requesters;
  const notes: string[] = [
    ...(creation ? readAuth(creation, config).notes : []),
    ...new Set(requesters.flatMap(readErrorNotes)),
  ];
  if (['download_target_extractor', 'urls_extractor'].some((key) => valueOf(retriever, key) !== undefined))
    notes.push('Name the hosts of the files in http.allowedHosts, unless they are on the host of the API.');
  const cleans = ['abort_requester', 'delete_requester'].some((key) => valueOf(retriever, key) !== undefined);
  return cleans ? [...notes, 'Jobs stay in the API: nothing aborts or deletes them.'] : notes;
}

export function readReportJob(retriever: Component, setting: Setting): ReadJob {
  const { config, records } = setting;
  refuseOthers(retriever);
  const [creation, polling, download] = requesterKeys.map((key) => requesterOf(retriever, key));
  if (!creation || !polling || !download) return refuse(retriever.path, 'it lacks a requester');
  const target = readTarget(retriever, config);
  const created = { creation_response: pathValue('creation_response', 'object') };
  const polled = {
    ...created,
    polling_response: pathValue('polling_response', 'object'),
    download_target: target === null ? constant('') : pathValue('download_target', 'text'),
  };
  const isOld = target?.isOld === true;
  const drafts = {
    create: draftOf(creation, setting, {}),
    poll: draftOf(polling, isOld ? { ...setting, slice: oldSlices.poll } : setting, created),
    request: draftOf(download, isOld ? { ...setting, slice: oldSlices.request } : setting, polled),
  };
  const auth = signedBy(drafts.create, creation, config);
  if (JSON.stringify(signedBy(drafts.poll, polling, config)) !== JSON.stringify(auth))
    refuse(polling.path, 'the request for the state of a job has the credentials of the one that creates it');
  const signed = signedBy(drafts.request, download, config);
  const isSigned = JSON.stringify(signed) === JSON.stringify(auth);
  if (!isSigned && signed['kind'] !== 'none')
    refuse(download.path, 'the request for the file of a job has the credentials of the others, or none');
  const pagination = readPagination(retriever, { config, records, draft: drafts.request }, 'download_paginator');
  const { create, poll, request, id, values } = withResponses(drafts, target !== null, retriever.path);
  const statuses = readStatuses(retriever, config);
  const { own: errors, ...others } = errorsOf({ creation, polling, download }, config);
  return {
    job: {
      create,
      poll,
      ...others,
      id,
      status: statuses.status,
      completed: statuses.completed,
      failed: statuses.failed,
      ...(statuses.emptyWhen === null ? {} : { emptyWhen: statuses.emptyWhen }),
      ...(target === null ? {} : { parts: `$boolean(${target.code}) ? ${target.code} : []` }),
      ...(Object.keys(values).length === 0 ? {} : { values }),
      ...(isSigned ? {} : { signRequest: false }),
      timeoutSeconds: readTimeout(retriever, config),
    },
    request,
    auth,
    errors,
    pagination,
  };
}

function requesterOf(retriever: Component, key: string): Component {
  const requester = partOf(retriever, key);
  if (requester === null) return refuse(retriever.path, `it has no ${key}`);
  return requester.type === 'HttpRequester' ? requester : refuseType(requester, 'HttpRequester is converted');
}

function refuseOthers(retriever: Component): void {
  const reasons: Readonly<Record<string, string>> = {
    download_target_requester: 'a request for the addresses of files has no counterpart',
    url_requester: 'a request for the addresses of files has no counterpart',
  };
  for (const [key, reason] of Object.entries(reasons)) {
    if (valueOf(retriever, key) !== undefined) refuse(pathAt(retriever, key), reason);
  }
  if (readDecoder(retriever, 'decoder') !== 'json')
    refuse(pathAt(retriever, 'decoder'), 'the state of a job is read as JSON');
}

function draftOf(
  requester: Component,
  { config, slice: given }: Setting,
  more: Readonly<Record<string, Value>>,
): RequestDraft {
  const slice = withExtraFields(given, more);
  const draft = readRequester(requester, requestScope({ component: requester, config, slice }, more));
  if (draft.chunks !== undefined) refuse(requester.path, 'a report has all properties');
  splitQuery(draft);
  return draft;
}

/** In the CDK, the slice also has the values that a request of a job sees. */
function withExtraFields(slice: Slice, more: Readonly<Record<string, Value>>): Slice {
  const before = slice.inRequest.get('extra_fields');
  const extraFields: Value = {
    kind: 'object',
    code: '{}',
    member: (key) => (Object.hasOwn(more, key) ? (more[key] ?? null) : (before?.member?.(key) ?? null)),
  };
  return { ...slice, inRequest: new Map([...slice.inRequest, ['extra_fields', extraFields]]) };
}

const signedBy = (draft: RequestDraft, requester: Component, config: Config): ReadAuth['auth'] =>
  moveSecrets(draft, readAuth(requester, config).auth, requester.path);

/** The addresses of the files of a report, as JSONata. */
interface Target {
  readonly code: string;
  /** Whether the manifest is for a CDK that had them in `stream_slice`. */
  readonly isOld: boolean;
}

/** `null` when the download needs no address. */
function readTarget(retriever: Component, config: Config): Target | null {
  const extractor = partOf(retriever, 'download_target_extractor');
  const old = extractor === null ? partOf(retriever, 'urls_extractor') : null;
  const given = extractor ?? old;
  return given === null ? null : { code: `body${valuePath(given, config)}`, isOld: old !== null };
}

const createdResponse: Value = {
  kind: 'object',
  code: 'creation_response',
  member: (key) => (key === 'json' ? pathValue('creation_response', 'object') : null),
};

const sliceOf = (name: string, value: Value): Slice => ({ ...noSlice, inRequest: new Map([[name, value]]) });

/** `stream_slice` for the requests of a job in earlier CDKs. */
const oldSlices = {
  poll: sliceOf('create_job_response', createdResponse),
  request: sliceOf('url', pathValue('download_target', 'text')),
};

/** The rules of the file, and of the other requests where they differ. An empty page is not a response about a job. */
function errorsOf(
  requesters: { readonly creation: Component; readonly polling: Component; readonly download: Component },
  config: Config,
): { readonly own: readonly Rule[] } & Pick<JobDraft, 'createErrors' | 'pollErrors'> {
  const rulesOf = (requester: Component): readonly Rule[] => {
    const { errors, when } = splitShrink(readErrors(requester, config), requester.path);
    return when === null ? errors : refuse(requester.path, 'no request of a job asks for smaller pages');
  };
  const own = rulesOf(requesters.download);
  const others = (key: string, requester: Component): Readonly<Record<string, readonly Rule[]>> => {
    const rules = rulesOf(requester).filter(({ action }) => action !== 'empty');
    return JSON.stringify(rules) === JSON.stringify(own) ? {} : { [key]: rules };
  };
  return {
    own,
    ...others('createErrors', requesters.creation),
    ...others('pollErrors', requesters.polling),
  };
}

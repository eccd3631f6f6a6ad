import type { StreamDraft } from './stream/convert-stream.ts';
import type { JobDraft } from './stream/report-job.ts';
import type { RequestDraft } from './stream/request-draft.ts';

type Part = Readonly<Record<string, unknown>>;

/** Identifies a record of a stream without a key by its content. */
const contentField = 'airbyte_content';

export interface Address {
  /** `http.baseUrl`, shared by all; `null` when every request has its own address. */
  readonly base: string | null;
}

/**
 * The resource of a spec for a stream. `auth` is `null` for that of the spec. `types` is the JSON Schema of its
 * records; `null` skips validation.
 */
export function resourceOf(
  draft: StreamDraft,
  {
    key,
    name,
    auth,
    address,
    types,
  }: {
    readonly key: string;
    readonly name: string;
    readonly auth: Part | null;
    readonly address: Address;
    readonly types: Part | null;
  },
): Record<string, unknown> {
  const { records, notes, forEach, errors, incremental, pagination } = draft;
  const { map, hidden } = shape(draft);
  const added = [...draft.partitionFields, ...records.late];
  return {
    key,
    ...(name === key || name === '' ? {} : { name: name.slice(0, 200) }),
    ...(notes.length === 0 ? {} : { description: notes.join(' ') }),
    primaryKey: draft.primaryKey.length > 0 ? draft.primaryKey : [contentField],
    ...(auth === null ? {} : { auth }),
    ...(forEach.length === 0 ? {} : { forEach }),
    ...(draft.request.chunks === undefined ? {} : { fieldChunks: chunksOf(draft) }),
    ...(draft.job === null ? {} : { job: jobOf(draft.job) }),
    request: requestOf(draft.request, address),
    response: {
      ...(records.decoder === 'json' ? {} : { decoder: records.decoder }),
      records: records.path,
      recordsMissing: 'empty',
      ...(map === null ? {} : { map }),
      ...(records.successWhen === null ? {} : { successWhen: records.successWhen }),
      ...(added.length === 0 ? {} : { addFields: Object.fromEntries(added) }),
    },
    ...(pagination === null ? {} : { pagination }),
    ...(incremental === null ? {} : { incremental }),
    ...(errors.length === 0 ? {} : { errors }),
    ...(records.filter === null ? {} : { filter: records.filter }),
    ...(records.late.size === 0 ? {} : { changeDetection: { ignore: [...records.late.keys()] } }),
    ...(types === null ? {} : { validate: { schema: types, coerce: true }, onInvalid: 'quarantine' }),
    ...(hidden.length === 0
      ? {}
      : { transform: `$ ~> |$|{}, [${hidden.map((field) => JSON.stringify(field)).join(', ')}]|` }),
  };
}

/** Only where further pages do not exist may a chunk lack records that another one has. */
const chunksOf = ({ request, pagination }: StreamDraft): Part => ({
  ...request.chunks,
  ...(pagination !== null && { onMissing: 'fail' }),
});

function shape({ records, cursorField, primaryKey, partitionFields }: StreamDraft): {
  readonly map: string | null;
  readonly hidden: readonly string[];
} {
  const added: string[] = [];
  const hidden = [...records.hidden, ...partitionFields.keys()];
  if (cursorField !== null) {
    hidden.push(cursorField.name);
    added.push(`"${cursorField.name}": $m.(${cursorField.code})`);
  }
  if (primaryKey.length === 0) {
    hidden.push(contentField);
    added.push(`"${contentField}": $string($m)`);
  }
  const map = added.length === 0 ? records.map : `($m := ${records.map ?? '$'}; $merge([$m, {${added.join(', ')}}]))`;
  return { map, hidden };
}

function jobOf({ create, poll, ...rules }: JobDraft): Part {
  return { create: requestOf(create, { base: null }), poll: requestOf(poll, { base: null }), ...rules };
}

function requestOf(request: RequestDraft, { base }: Address): Part {
  const { method, query, headers, body } = request;
  const path =
    base !== null && request.base === base && request.path !== ''
      ? { path: `/${request.path}` }
      : { url: urlOf(request) };
  return {
    ...(method === 'GET' ? {} : { method }),
    ...path,
    ...(Object.keys(query).length === 0 ? {} : { query }),
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
    ...(body === null ? {} : { body: body.kind === 'text' ? { text: body.text } : { [body.kind]: body.fields } }),
  };
}

const urlOf = ({ base, path }: RequestDraft): string => (path === '' || base === '' ? base || path : `${base}/${path}`);

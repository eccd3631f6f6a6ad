import { isJsonObject } from '../../json/is-json-object.ts';
import type { JsonObject } from '../../json/json-object.ts';
import type { ErrorRule, RequestTemplate } from '../schema/http-schema.ts';
import type { Lookup } from '../schema/lookup-schema.ts';
import type { Pagination } from '../schema/pagination-schema.ts';
import type { ConnectorSpec, Resource } from '../schema/spec-schema.ts';
import { addedFields, keyFields, withAdded } from './added-fields.ts';
import { fieldsIn, isWithin, type Mentions, mentionsAt, type Names, rootsIn, valuesOf } from './mentions.ts';
import { ancestorsOf, sourcesOf } from './partition-sources.ts';
import { resourceFingerprint } from './resource-fingerprint.ts';
import { shapePlaces } from './shape-values.ts';

/**
 * Parts of a spec that decide which records a resource reads, as JSON. They include no default that a later service
 * version may add, so the digest changes with the document only. Sizes, limits and credentials do not count.
 */
export function readDefinition(spec: Pick<ConnectorSpec, 'http' | 'resources'>, resource: Resource): unknown {
  const { http } = spec;
  const { response, fieldChunks, job, filter, onInvalid, incremental } = resource;
  return {
    http: {
      baseUrl: http.baseUrl,
      query: withoutPages(http.query),
      headers: withoutPages(http.headers),
      empty: emptyRules(http.errors),
    },
    request: requestDefinition(resource.request),
    fieldChunks: fieldChunks && [fieldChunks.fields, fieldChunks.always, fieldChunks.mergeBy, fieldChunks.onMissing],
    job: job && {
      create: requestDefinition(job.create),
      poll: requestDefinition(job.poll),
      rest: [job.id, job.emptyWhen, job.parts, job.values],
    },
    response: [response.records, response.recordsMissing, response.successWhen],
    decoded: decodedDefinition(response),
    pagination: pagesDefinition(resource.pagination),
    empty: emptyRules(resource.errors),
    forEach: resource.forEach.map((dimension) => ({
      group: dimension.group,
      sources: sourcesOf(dimension).map((source) => [source.values, source.resource, source.when, source.value]),
    })),
    above: aboveDefinition(ancestorsOf(spec, resource)),
    filter,
    chosenBy: chosenDefinition(resource),
    // A record skipped as invalid now may be valid under other rules.
    valid: onInvalid === 'skip' ? resourceFingerprint(resource) : null,
    incremental: incremental && {
      initial: incremental.initial,
      ...(incremental.kind === 'cursor' && {
        missing: incremental.cursor.missing,
        clientFilter: incremental.clientFilter,
        windows: incremental.window !== undefined,
      }),
    },
    deletes: deletesDefinition(resource.deletes),
  };
}

/** Parts of a spec that decide what a partition is: another thing may have the same key. */
export const partitionsDefinition = (spec: Pick<ConnectorSpec, 'resources'>, resource: Resource): unknown => [
  resource.forEach.map((dimension) => [
    dimension.group,
    sourcesOf(dimension).map(({ values, resource: parent, value }) => [values, parent, value]),
  ]),
  ancestorsOf(spec, resource).map(({ primaryKey, request, response }) => [
    primaryKey,
    request.path,
    request.url,
    response.records,
  ]),
];

/** The form of the values in a body; absent for the usual one. */
const decodedDefinition = ({ decoder, bigNumbers }: Resource['response']): unknown =>
  decoder === 'json' && bigNumbers === 'string' ? undefined : { decoder, bigNumbers };

/** Identity of the records that supply partitions, if any, because records of different lists may share an id. */
const aboveDefinition = (ancestors: readonly Resource[]): unknown =>
  ancestors.length === 0
    ? undefined
    : ancestors.map((above) => [
        above.primaryKey,
        keyFields(above),
        requestDefinition(above.request),
        above.job && requestDefinition(above.job.create),
        above.response.records,
        above.forEach.flatMap((dimension) => sourcesOf(dimension).map(({ values }) => values)),
      ]);

/** Sources of the fields that select records; absent if the API supplies them as they are. */
function chosenDefinition(resource: Resource): unknown {
  const [fields, map] = [choosingFields(resource), resource.response.map];
  if (fields === null) return undefined;
  const added = fields === 'all' ? resource.response.addFields : addedFields(resource, fields);
  return map === undefined && Object.keys(added).length === 0 ? undefined : { map, added };
}

/** Fields visible to the filter or the mark of deleted records; `null` without either. */
function choosingFields({ filter, deletes }: Resource): 'all' | readonly string[] | null {
  const conditions = [filter, deletes.mode === 'flag' ? deletes.when : undefined].filter((text) => text !== undefined);
  if (conditions.length === 0) return null;
  const fields = conditions.map(fieldsIn);
  return fields.includes('all') ? 'all' : fields.flatMap((names) => (names === 'all' ? [] : names));
}

/**
 * Mentions in the expressions that decide which records a resource reads. Values of its own partitions do not count:
 * each partition is known by its own. Resources above count, because a partition of a record is known by the record's
 * id alone.
 */
export function readMentions(spec: ConnectorSpec, resource: Resource): Mentions {
  const above = new Set(ancestorsOf(spec, resource));
  const resources = spec.resources.map((each) =>
    each === resource ? chosen(each) : above.has(each) ? withAdded(each, keyFields(each)) : each,
  );
  const places = spec.resources.flatMap((each, index) =>
    each === resource ? ownPlaces(each, index) : above.has(each) ? abovePlaces(index) : [],
  );
  const shared = ['baseUrl', 'query', 'headers', 'errors'].map((name) => `http.${name}`);
  const isPlace = isWithin([...shared, ...accountPlaces(spec, resource), ...places]);
  const own = `resources.${spec.resources.indexOf(resource)}.`;
  return mentionsAt({ ...spec, resources }, (at) => isPlace(at) && !(at.startsWith(own) && listsPartitions(at)));
}

/** Params that choose the account whose records a resource reads: those of its host and of its credentials. */
export const accountParams = (spec: ConnectorSpec, resource: Resource): Names =>
  mentionsAt(spec, isWithin(['http.baseUrl', ...accountPlaces(spec, resource)])).params;

const accountPlaces = (spec: ConnectorSpec, resource: Resource): readonly string[] =>
  ['auth', `resources.${spec.resources.indexOf(resource)}.auth`].flatMap((auth) =>
    accountParts.map((name) => `${auth}.${name}`),
  );

/** Parts of credentials whose params may name the account; a client's id may change within one. */
const accountParts = ['tokenUrl', 'tokenParams', 'params', 'exchange', 'login', 'claims', 'username', 'headers'];

/** Everything that decides which records the filter keeps, with the params that count; `null` if it keeps all. */
export function filterDefinition(spec: ConnectorSpec, resource: Resource, params: JsonObject): unknown {
  const { filter } = resource;
  if (filter === undefined) return null;
  const alone: Resource = { ...resource, deletes: { mode: 'none' }, onInvalid: 'quarantine' };
  const resources = spec.resources.map((each) => (each === resource ? chosen(alone) : each));
  const places = ['filter', 'response.addFields', 'response.map'];
  const own = `resources.${spec.resources.indexOf(resource)}`;
  const mentions = mentionsAt({ ...spec, resources }, isWithin(places.map((name) => `${own}.${name}`)));
  const tables = mentions.lookups.map(lookupDefinition);
  return [filter, chosenDefinition(alone), valuesOf(mentions.params, params), tables];
}

/** The resource with only the added fields that decide which of its records are read. */
function chosen(resource: Resource): Resource {
  const fields = choosingFields(resource);
  if (resource.onInvalid === 'skip' || fields === 'all') return resource;
  return withAdded(resource, addedFields(resource, fields ?? []));
}

function ownPlaces(resource: Resource, index: number): readonly string[] {
  const requests = ['forEach', 'request', 'fieldChunks', 'job', 'response.successWhen', 'pagination', 'errors'];
  const rest = ['filter', 'deletes', 'incremental.initial', 'response.addFields'];
  const made = choosingFields(resource) === null ? [] : ['response.map'];
  return [
    ...[...requests, ...rest, ...made].map((name) => `resources.${index}.${name}`),
    ...(resource.onInvalid === 'skip' ? shapePlaces(index) : []),
  ];
}

const abovePlaces = (index: number): readonly string[] =>
  ['forEach', 'request', 'job.create', 'response.addFields'].map((name) => `resources.${index}.${name}`);

export const lookupDefinition = (lookup: Lookup): unknown =>
  lookup.kind === 'static'
    ? { table: lookup.table }
    : {
        request: requestDefinition(lookup.request),
        rest: [lookup.records, lookup.keyBy, lookup.value],
        pagination: pagesDefinition(lookup.pagination),
      };

function requestDefinition({ method, path, url, query, headers, body }: RequestTemplate): unknown {
  return { method, path, url, query: withoutPages(query), headers: withoutPages(headers), body: withoutPages(body) };
}

function pagesDefinition(pagination: Pagination): unknown {
  const { kind, stopWhen, onRepeat, emptyPage } = pagination;
  const next = 'next' in pagination ? pagination.next : undefined;
  const total =
    'totalPages' in pagination ? pagination.totalPages : 'total' in pagination ? pagination.total : undefined;
  const inject = 'inject' in pagination ? [pagination.inject.in, pagination.inject.name] : undefined;
  const start = 'start' in pagination ? pagination.start : undefined;
  const by = 'field' in pagination ? pagination.field : 'rel' in pagination ? pagination.rel : undefined;
  return { kind, stopWhen, onRepeat, emptyPage, next, total, inject, start, by };
}

function deletesDefinition(deletes: Resource['deletes']): unknown {
  if (deletes.mode === 'flag') return { mode: deletes.mode, when: deletes.when };
  if (deletes.mode !== 'endpoint') return { mode: deletes.mode };
  const { mode, request, key, records, pagination, stopWhen, at } = deletes;
  return { mode, request: requestDefinition(request), key, records, pages: pagesDefinition(pagination), stopWhen, at };
}

const emptyRules = (rules: readonly ErrorRule[]): unknown =>
  rules.filter(({ action }) => action === 'empty').map(({ when: { status, expr } }) => [status, expr]);

/** A request without the texts that only select the page and its size. */
function withoutPages(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutPages);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, child]) => typeof child !== 'string' || !isOfPage(child))
      .map(([name, child]) => [name, withoutPages(child)]),
  );
}

function isOfPage(text: string): boolean {
  const roots = rootsIn('templates', { path: '', value: text });
  return roots.size === 1 && roots.has('page');
}

/** Whether a place lists partitions; facts stored of one are about its own values alone. */
export const listsPartitions = (at: string): boolean => /\.forEach\.\*(?:\.union\.\*)?\.values$/.test(at);

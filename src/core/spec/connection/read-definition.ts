import { isJsonObject } from '../../json/is-json-object.ts';
import type { ErrorRule, RequestTemplate } from '../schema/http-schema.ts';
import type { Lookup } from '../schema/lookup-schema.ts';
import type { Pagination } from '../schema/pagination-schema.ts';
import type { ConnectorSpec, Resource } from '../schema/spec-schema.ts';
import { rootsIn } from './mentions.ts';
import { sourcesOf } from './partition-sources.ts';
import { resourceFingerprint } from './resource-fingerprint.ts';

/**
 * What of a spec decides which records a resource reads, as JSON. Nothing of it is a default that a later version of the
 * service may add, so that its digest changes with the document only. Sizes, limits and credentials decide nothing here.
 */
export function readDefinition({ http }: Pick<ConnectorSpec, 'http'>, resource: Resource): unknown {
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
    pagination: pagesDefinition(resource.pagination),
    empty: emptyRules(resource.errors),
    forEach: resource.forEach.map((dimension) => ({
      group: dimension.group,
      sources: sourcesOf(dimension).map((source) => [source.values, source.resource, source.when, source.value]),
    })),
    filter,
    // A record that is skipped as invalid now may be valid under other rules.
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

/**
 * Where in a resource, or in what its requests share, an expression decides which records are read. The values of partitions
 * do not: each partition is known by its own.
 */
export const readPlaces = (index: number): ((at: string) => boolean) => {
  const own = [
    ...[
      'forEach',
      'request',
      'fieldChunks',
      'job',
      'response.successWhen',
      'pagination',
      'errors',
      'filter',
      'deletes',
    ],
    ...['incremental.initial'],
  ].map((name) => `resources.${index}.${name}`);
  const places = ['http.baseUrl', 'http.query', 'http.headers', 'http.errors', ...own];
  return (at) => !listsPartitions(at) && places.some((place) => at === place || at.startsWith(`${place}.`));
};

/** What decides the values of a table. */
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
  const { mode, request, key, records, pagination, stopWhen } = deletes;
  return { mode, request: requestDefinition(request), key, records, pages: pagesDefinition(pagination), stopWhen };
}

/** The conditions under which a response counts as a page without records. */
const emptyRules = (rules: readonly ErrorRule[]): unknown =>
  rules.filter(({ action }) => action === 'empty').map(({ when: { status, expr } }) => [status, expr]);

/** A request without the texts that only say which page, and of what size. */
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

/** Whether a place of a spec lists partitions: what is stored of one is about its own values alone. */
export const listsPartitions = (at: string): boolean => /\.forEach\.\*(?:\.union\.\*)?\.values$/.test(at);

import { digestOf } from '../../crypto/digest.ts';
import { canonicalJson } from '../../json/canonical-json.ts';
import type { JsonObject } from '../../json/json-object.ts';
import { valuesAt } from '../check/document-paths.ts';
import type { ConnectorSpec } from '../schema/spec-schema.ts';
import { eachFieldsIn, pickEach } from './each-fields.ts';
import { isWithin, mentionsAt, perResource, textsWithin, valuesOf } from './mentions.ts';

/** Places of the expressions that decide what is delivered for a raw record. */
export const shapePlaces = (index: number): readonly string[] =>
  ownPlaces(index, ['response.map', 'response.addFields', 'enrich', 'transform', 'deletes.when']);

/** Places of the expressions that keep or leave out a record that was read, by a resource as it is written or parsed. */
export const choosingPlaces = (resource: unknown, index: number): readonly string[] =>
  ['filter', 'deletes.when'].every((name) => valuesAt(resource, name).length === 0)
    ? []
    : ownPlaces(index, ['filter', 'deletes.when', 'response.map']);

/** Whether tables at a place decide over requests. Headers hold values of the moment, such as a token against forgery. */
export function asksByTables(index: number): (at: string) => boolean {
  const isOfRequest = isWithin([...sharedParts, ...ownPlaces(index, ['fieldChunks', ...requestParts])]);
  return (at) => isOfRequest(at) && !/\.headers\b/.test(at);
}

/** Parts of every request of a spec. */
const sharedParts = ['http.baseUrl', 'http.query', 'http.headers'];
const requestParts = ['request', 'pagination', 'job', 'deletes.request', 'incremental'];

const ownPlaces = (index: number, names: readonly string[]): readonly string[] =>
  names.map((name) => `resources.${index}.${name}`);

/**
 * Digest of the params and static tables that shape the records of a resource, part of every record's fingerprint;
 * empty if none does. Tables read from the API count only if `changeDetection.lookups` names them.
 */
export function shapeValues(spec: ConnectorSpec, resourceKey: string, params: JsonObject): string {
  const mentions = mentionsOf(spec, resourceKey);
  const tables = mentions.lookups.flatMap((lookup) =>
    lookup.kind === 'static' ? [[lookup.assignTo, lookup.table]] : [],
  );
  if (mentions.params.size === 0 && tables.length === 0) return '';
  return digestOf(canonicalJson([valuesOf(mentions.params, params), tables]));
}

const mentionsOf = perResource((spec, resource) =>
  mentionsAt(spec, isWithin(shapePlaces(spec.resources.indexOf(resource)))),
);

/**
 * Returns a function that digests the partition values that shape records; empty if none does. The digest is part of
 * every record's fingerprint: a renamed parent has its records delivered again, as they are read from the beginning.
 */
export function shapeEach(spec: ConnectorSpec, resourceKey: string): (each: JsonObject) => string {
  const fields = eachFieldsOf(spec, resourceKey);
  if (fields !== 'all' && fields.size === 0) return () => '';
  return (each) => digestOf(canonicalJson(pickEach(fields, each)));
}

/**
 * Returns a function that makes the stored form of what decides over a partition, with secrets masked: its values, and
 * the tables from the API that choose records; `null` if nothing matters. For each kind of values it has a digest of
 * the names that matter and one of the values; see {@link changeOf}.
 */
export function storedShapeOf(
  spec: ConnectorSpec,
  resourceKey: string,
  { lookups, redact }: { readonly lookups: JsonObject; readonly redact: (text: string) => string },
): (each: JsonObject) => string | null {
  const halves = decidingOf(spec, resourceKey);
  if (halves.every(({ fields, tables }) => isNone(fields) && tables.length === 0)) return () => null;
  const digest = (value: unknown) => digestOf(redact(canonicalJson(value)));
  const contents = halves.map(({ tables }) =>
    tables.length === 0 ? null : digest(tables.map((name) => lookups[name])),
  );
  const names = halves.map(({ fields, tables }) =>
    digestOf(canonicalJson([fields === 'all' ? fields : [...fields].toSorted((a, b) => (a < b ? -1 : 1)), tables])),
  );
  const halfOf = ({ fields }: Deciding, content: string | null, each: JsonObject) =>
    content === null ? digest(pickEach(fields, each)) : digest([pickEach(fields, each), content]);
  return (each) =>
    halves.flatMap((half, index) => [names[index], halfOf(half, contents[index] ?? null, each)]).join('.');
}

interface Deciding {
  readonly fields: EachFields;
  /** Names of tables read from the API. */
  readonly tables: readonly string[];
}

type EachFields = ReturnType<typeof eachFieldsIn>;

const isNone = (fields: EachFields): boolean => fields !== 'all' && fields.size === 0;

/**
 * Compares stored values: `read` if the requests differ, `shape` if records have another shape, `null` for
 * neither or unknown. A spec that uses other values shapes only what is delivered from then on.
 */
export function changeOf(before: string | null, now: string | null): 'read' | 'shape' | null {
  if (before === null || now === null || before === now) return null;
  const [stored, today] = [before.split('.'), now.split('.')];
  if (stored.length !== today.length) return null;
  const differs = (index: number) =>
    stored[index + 1] === '' || (stored[index] === today[index] && stored[index + 1] !== today[index + 1]);
  if (differs(2)) return 'read';
  return differs(0) ? 'shape' : null;
}

/** The form stored while a partition is read again: it keeps showing the change, even if the spec or the values change. */
export function unfinished(now: string, change: 'read' | 'shape'): string {
  const [shapeNames, shape, readNames, read] = now.split('.');
  return [shapeNames, change === 'read' ? shape : '', readNames, change === 'read' ? '' : read].join('.');
}

/** The values that decide over the shape of records and which of them are kept, and those that decide over requests. */
const decidingOf = perResource((spec, resource): readonly Deciding[] => {
  const index = spec.resources.indexOf(resource);
  return [
    {
      fields: eachFieldsIn(textsWithin(spec, isWithin([...shapePlaces(index), ...ownPlaces(index, ['filter'])]))),
      tables: tablesAt(spec, isWithin(choosingPlaces(resource, index))),
    },
    {
      fields: eachFieldsIn(textsWithin(spec, isWithin([...sharedParts, ...ownPlaces(index, requestParts)]))),
      tables: tablesAt(spec, asksByTables(index)),
    },
  ];
});

const tablesAt = (spec: ConnectorSpec, isPlace: (at: string) => boolean): readonly string[] =>
  mentionsAt(spec, isPlace).lookups.flatMap(({ kind, assignTo }) => (kind === 'request' ? [assignTo] : []));

const eachFieldsOf = perResource((spec, resource) => {
  const index = spec.resources.indexOf(resource);
  // Their results are in the record, which is compared as a whole unless mode `field` compares one field.
  const inRecord = ownPlaces(index, ['response.map', 'response.addFields']);
  const isSeen = resource.changeDetection.mode === 'field' ? () => false : isWithin(inRecord);
  const isShape = isWithin(shapePlaces(index));
  return eachFieldsIn(textsWithin(spec, (at) => isShape(at) && !isSeen(at)));
});

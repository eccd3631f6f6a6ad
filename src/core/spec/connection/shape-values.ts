import { digestOf } from '../../crypto/digest.ts';
import { canonicalJson } from '../../json/canonical-json.ts';
import type { JsonObject } from '../../json/json-object.ts';
import type { ConnectorSpec } from '../schema/spec-schema.ts';
import { eachFieldsIn, pickEach } from './each-fields.ts';
import { isWithin, mentionsAt, perResource, textsWithin, valuesOf } from './mentions.ts';

/** Places of the expressions that decide what is delivered for a raw record. */
export const shapePlaces = (index: number): readonly string[] =>
  ['response.map', 'response.addFields', 'enrich', 'transform', 'deletes.when'].map(
    (name) => `resources.${index}.${name}`,
  );

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
 * Returns a function that makes the stored form of partition values, with secrets masked; `null` if no value matters.
 * It joins a digest of the names that matter with one for each kind of values; see {@link changeOf}.
 */
export function storedShapeOf(
  spec: ConnectorSpec,
  resourceKey: string,
  redact: (text: string) => string,
): (each: JsonObject) => string | null {
  const { shape, read } = decidingFieldsOf(spec, resourceKey);
  if (isNone(shape) && isNone(read)) return () => null;
  const digest = (fields: EachFields, each: JsonObject) => digestOf(redact(canonicalJson(pickEach(fields, each))));
  const names = digestOf(
    canonicalJson(
      [shape, read].map((fields) => (fields === 'all' ? fields : [...fields].toSorted((a, b) => (a < b ? -1 : 1)))),
    ),
  );
  return (each) => [names, digest(shape, each), digest(read, each)].join('.');
}

type EachFields = ReturnType<typeof eachFieldsIn>;

const isNone = (fields: EachFields): boolean => fields !== 'all' && fields.size === 0;

/**
 * Compares stored partition values: `read` if the requests differ, `shape` if records have another shape, `null` for
 * neither or unknown. A spec that uses other values shapes only what is delivered from then on.
 */
export function changeOf(before: string | null, now: string | null): 'read' | 'shape' | null {
  if (before === null || now === null || before === now) return null;
  const [[names, shape, read], [namesNow, shapeNow, readNow]] = [before.split('.'), now.split('.')];
  if (names !== namesNow) return null;
  if (read !== readNow) return 'read';
  return shape === shapeNow ? null : 'shape';
}

/** The form stored while a partition is read again: it keeps showing the change, even if the values change meanwhile. */
export function unfinished(now: string, change: 'read' | 'shape'): string {
  const [names, shape, read] = now.split('.');
  return (change === 'read' ? [names, shape, ''] : [names, '', read]).join('.');
}

const decidingFieldsOf = perResource((spec, resource) => {
  const index = spec.resources.indexOf(resource);
  const isShape = isWithin([...shapePlaces(index), `resources.${index}.filter`]);
  const isRead = isWithin(
    ['request', 'pagination', 'job', 'deletes.request', 'incremental'].map((name) => `resources.${index}.${name}`),
  );
  return { shape: eachFieldsIn(textsWithin(spec, isShape)), read: eachFieldsIn(textsWithin(spec, isRead)) };
});

const eachFieldsOf = perResource((spec, resource) => {
  const index = spec.resources.indexOf(resource);
  // Their results are in the record, which is compared as a whole unless mode `field` compares one field.
  const inRecord = ['response.map', 'response.addFields'].map((name) => `resources.${index}.${name}`);
  const isSeen = resource.changeDetection.mode === 'field' ? () => false : isWithin(inRecord);
  const isShape = isWithin(shapePlaces(index));
  return eachFieldsIn(textsWithin(spec, (at) => isShape(at) && !isSeen(at)));
});

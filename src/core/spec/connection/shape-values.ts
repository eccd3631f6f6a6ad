import { digestOf } from '../../crypto/digest.ts';
import { canonicalJson } from '../../json/canonical-json.ts';
import type { JsonObject } from '../../json/json-object.ts';
import type { ConnectorSpec } from '../schema/spec-schema.ts';
import { eachFieldsIn, pickEach } from './each-fields.ts';
import { isWithin, mentionsAt, perResource, textsWithin, valuesOf } from './mentions.ts';

/** Where a resource has the expressions that decide what is delivered for a raw record. */
export const shapePlaces = (index: number): readonly string[] =>
  ['response.map', 'response.addFields', 'enrich', 'transform', 'deletes.when'].map(
    (name) => `resources.${index}.${name}`,
  );

/**
 * A digest of the params and of the tables in the spec that shape the records of a resource; empty: none does. It is part of
 * every record's fingerprint. Tables that are read from the API count only where `changeDetection.lookups` names them.
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
 * Makes a digest of what of the values of a partition shapes its records; empty: nothing does. It is part of every record's
 * fingerprint, so that a parent by another name has its records delivered again: they are read from the beginning.
 */
export function shapeEach(spec: ConnectorSpec, resourceKey: string): (each: JsonObject) => string {
  const fields = eachFieldsOf(spec, resourceKey);
  if (fields !== 'all' && fields.size === 0) return () => '';
  return (each) => digestOf(canonicalJson(pickEach(fields, each)));
}

/**
 * Makes what is stored of the values of a partition: a digest of the names of those that shape its records or decide what is
 * read, and one of each kind of values, with secrets masked. Null: no value does either. See {@link changeOf}.
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
 * What has changed of the values of a partition. `read`: its requests ask for something else. `shape`: its records have
 * another shape. Null: neither, or nobody knows. A spec that takes other values shapes what is delivered from then on.
 */
export function changeOf(before: string | null, now: string | null): 'read' | 'shape' | null {
  if (before === null || now === null || before === now) return null;
  const [[names, shape, read], [namesNow, shapeNow, readNow]] = [before.split('.'), now.split('.')];
  if (names !== namesNow) return null;
  if (read !== readNow) return 'read';
  return shape === shapeNow ? null : 'shape';
}

/** What is stored of a partition while it is read again: whatever its values are then, the same has changed. */
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
  // What these make is in the record, which is compared whole unless a field of it says whether it has changed.
  const inRecord = ['response.map', 'response.addFields'].map((name) => `resources.${index}.${name}`);
  const isSeen = resource.changeDetection.mode === 'field' ? () => false : isWithin(inRecord);
  const isShape = isWithin(shapePlaces(index));
  return eachFieldsIn(textsWithin(spec, (at) => isShape(at) && !isSeen(at)));
});

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
 * Makes what is stored of the values of a partition that shape its records, with a digest of their names; null: nothing does. See
 * {@link isReshaped}.
 */
export function storedShapeOf(spec: ConnectorSpec, resourceKey: string): (each: JsonObject) => string | null {
  const fields = allEachFieldsOf(spec, resourceKey);
  if (fields !== 'all' && fields.size === 0) return () => null;
  const names = digestOf(canonicalJson(fields === 'all' ? fields : [...fields].toSorted()));
  return (each) => `${names}.${digestOf(canonicalJson(pickEach(fields, each)))}`;
}

/**
 * Whether the values that shaped the records of a partition have changed. A spec that takes others shapes records that are
 * delivered from then on.
 */
export const isReshaped = (before: string | null, now: string | null): boolean =>
  before !== null && now !== null && before !== now && before.split('.')[0] === now.split('.')[0];

/** What of the values goes into a record at all. */
const allEachFieldsOf = perResource((spec, resource) =>
  eachFieldsIn(textsWithin(spec, isWithin(shapePlaces(spec.resources.indexOf(resource))))),
);

const eachFieldsOf = perResource((spec, resource) => {
  const index = spec.resources.indexOf(resource);
  // What these make is in the record, which is compared whole unless a field of it says whether it has changed.
  const inRecord = ['response.map', 'response.addFields'].map((name) => `resources.${index}.${name}`);
  const isSeen = resource.changeDetection.mode === 'field' ? () => false : isWithin(inRecord);
  const isShape = isWithin(shapePlaces(index));
  return eachFieldsIn(textsWithin(spec, (at) => isShape(at) && !isSeen(at)));
});

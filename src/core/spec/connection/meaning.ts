import { fingerprintOf } from '../../crypto/digest.ts';
import { canonicalJson } from '../../json/canonical-json.ts';
import type { JsonObject } from '../../json/json-object.ts';
import type { ConnectorSpec, Resource } from '../schema/spec-schema.ts';
import { addedFields, keyFields, withAdded } from './added-fields.ts';
import { isWithin, type Mentions, mentionsAt, type Names, perResource, valuesOf } from './mentions.ts';
import { lookupDefinition, readDefinition, readMentions } from './read-definition.ts';
import { storedFieldsOf } from './stored-fields.ts';

/**
 * What the facts that are stored of a lane are about, each kind as a digest. A fact is used only while its digest is that of
 * the spec and the params of the run.
 */
export interface Meaning {
  /** The primary key, and what makes its fields: known records, and so everything else. */
  readonly key: string;
  /** The definition of the cursor, and what makes its field: watermarks, and the cursor values of known records. */
  readonly cursor: string;
  /** What decides which records are read: watermarks, validators, and when parents were listed. */
  readonly read: string;
  /** The fields of records that are stored for the resources below; empty: none is stored. */
  readonly fields: string;
}

/** A kind of facts; see {@link Meaning}. */
export type Facet = keyof Meaning;

/** A meaning as it was stored; a digest is missing of what the service did not compare then, which counts as the same. */
export type StoredMeaning = Partial<Meaning>;

/** Differs in its key from every meaning: nothing that is stored counts. */
export const noMeaning: StoredMeaning = { key: '' };

/** Everything is read from the start, and whatever is read is delivered: a record of another account may have the same id. */
export const ofOtherAccount = { read: '', fields: 'of another account' } as const satisfies StoredMeaning;

/** What the facts of a resource mean under a spec and params, defaults filled in. Secrets are no part of it. */
export function meaningOf(spec: ConnectorSpec, resource: Resource, params: JsonObject): Meaning {
  const { key, cursor, read, fields } = definitionOf(spec, resource.key);
  return {
    key: key.params.size === 0 ? key.digest : digest([key.digest, valuesOf(key.params, params)]),
    cursor: cursor.params.size === 0 ? cursor.digest : digest([cursor.digest, valuesOf(cursor.params, params)]),
    read: digest([read.digest, valuesOf(read.params, params)]),
    fields,
  };
}

/** The kinds of stored facts that no longer mean the same. Fields that are no longer stored leave no fact that is used. */
export function changedFacets(stored: StoredMeaning, today: Meaning): readonly Facet[] {
  return facets.filter((facet) => {
    const before = stored[facet];
    return (
      before !== undefined &&
      before !== today[facet] &&
      !(facet === 'fields' && today.fields === '' && before !== ofOtherAccount.fields)
    );
  });
}

/** Whether a lane that stores this has to store today's meaning. */
export const isMeaning = (stored: StoredMeaning | null, today: Meaning): boolean =>
  stored !== null && facets.every((facet) => stored[facet] === today[facet]);

const facets = ['key', 'cursor', 'read', 'fields'] as const satisfies readonly Facet[];

/** A definition, and the params that count beside it. */
interface Definition {
  readonly digest: string;
  readonly params: Names;
}

/** What a meaning follows from. */
interface Definitions extends Pick<Meaning, 'fields'> {
  readonly key: Definition;
  readonly cursor: Definition;
  readonly read: Definition;
}

const definitionOf = perResource((spec, resource): Definitions => {
  const stored = storedFieldsOf(spec, resource.key);
  const mentions = readMentions(spec, resource);
  return {
    key: keyDefinition(spec, resource),
    cursor: cursorDefinition(spec, resource),
    read: {
      digest: digest([readDefinition(spec, resource), mentions.lookups.map(lookupDefinition)]),
      params: mentions.params,
    },
    fields: stored === null ? '' : digest(stored),
  };
});

/** What the stored fields of a resource mean; see {@link Meaning.fields}. */
export const fieldsMeaning = (spec: ConnectorSpec, resourceKey: string): string =>
  definitionOf(spec, resourceKey).fields;

function keyDefinition(spec: ConnectorSpec, resource: Resource): Definition {
  const { primaryKey } = resource;
  const added = keyFields(resource);
  return {
    digest: digest(Object.keys(added).length === 0 ? primaryKey : [primaryKey, added]),
    params: madeOf(spec, resource, { added, isMapped: false }).params,
  };
}

/** A cursor value is what a record has after `map` and `addFields`. */
function cursorDefinition(spec: ConnectorSpec, resource: Resource): Definition {
  const { incremental, response } = resource;
  if (incremental?.kind !== 'cursor') {
    return { digest: digest(incremental && { kind: incremental.kind, next: incremental.next }), params: new Set() };
  }
  const { field, type, format, timezone } = incremental.cursor;
  if (field === undefined) return { digest: digest({ field, type, format, timezone }), params: new Set() };
  const mentions = madeOf(spec, resource, { added: addedFields(resource, [field]), isMapped: true });
  const made = { map: response.map, added: response.addFields[field.split('.', 1)[0] ?? field] };
  const tables = mentions.lookups.length === 0 ? undefined : mentions.lookups.map(lookupDefinition);
  return { digest: digest({ field, type, format, timezone, made, tables }), params: mentions.params };
}

/** What `addFields`, as far as it makes some fields, mentions, and `map` if it counts. */
function madeOf(
  spec: ConnectorSpec,
  resource: Resource,
  { added, isMapped }: { readonly added: ReturnType<typeof addedFields>; readonly isMapped: boolean },
): Mentions {
  const places = ['response.addFields', ...(isMapped ? ['response.map'] : [])];
  const narrowed = { ...spec, resources: [withAdded(resource, added)] };
  return mentionsAt(narrowed, isWithin(places.map((name) => `resources.0.${name}`)));
}

const digest = (value: unknown): string => fingerprintOf(canonicalJson(value));

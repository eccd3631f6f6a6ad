import { fingerprintOf } from '../../crypto/digest.ts';
import { canonicalJson } from '../../json/canonical-json.ts';
import type { JsonObject } from '../../json/json-object.ts';
import type { ConnectorSpec, Resource } from '../schema/spec-schema.ts';
import { addedFields, keyFields, withAdded } from './added-fields.ts';
import { isWithin, type Mentions, mentionsAt, type Names, perResource, valuesOf } from './mentions.ts';
import {
  accountParams,
  lookupDefinition,
  partitionsDefinition,
  readDefinition,
  readMentions,
} from './read-definition.ts';
import { storedFieldsOf } from './stored-fields.ts';

/**
 * Digests of what the stored facts of a lane are about, by kind. A fact is used only while its digest equals that of
 * the run's spec and params.
 */
export interface Meaning {
  /** The primary key and its source fields: known records, and thus every other fact. */
  readonly key: string;
  /** The cursor definition and its source field: watermarks, and cursor values of known records. */
  readonly cursor: string;
  /** The choice of records to read: watermarks, validators, and when parents were listed. */
  readonly read: string;
  /** Params that choose the account: records kept in quarantine. Empty if none does. */
  readonly account: string;
  /** The sources of partitions: places at which records were seen. Empty without partitions. */
  readonly places: string;
  /** Fields of records stored for the resources below; empty if none is stored. */
  readonly fields: string;
  /**
   * Knowledge of the delivered records: all (empty), only which are deleted, or nothing. Less than today's is too
   * little for deletes and fingerprints.
   */
  readonly known: '' | 'deleted' | 'nothing';
}

export type Facet = keyof Meaning;

/** A missing digest counts as equal: the service did not compare it at the time. */
export type StoredMeaning = Partial<Meaning>;

/** Differs in its key from every meaning, so no stored fact counts. */
export const noMeaning: StoredMeaning = { key: '' };

/** Forces a read from the start and delivery of everything: a record of another account may have the same id. */
export const ofOtherAccount = {
  read: '',
  account: 'another',
  fields: 'of another account',
} as const satisfies StoredMeaning;

/** The meaning of a resource under a spec and params, defaults filled in; secrets are not part of it. */
export function meaningOf(spec: ConnectorSpec, resource: Resource, params: JsonObject): Meaning {
  const { key, cursor, read, account, places, fields, known } = definitionOf(spec, resource.key);
  return {
    key: key.params.size === 0 ? key.digest : digest([key.digest, valuesOf(key.params, params)]),
    cursor: cursor.params.size === 0 ? cursor.digest : digest([cursor.digest, valuesOf(cursor.params, params)]),
    read: digest([read.digest, valuesOf(read.params, params)]),
    account: account.size === 0 ? '' : digest(valuesOf(account, params)),
    places,
    fields,
    known,
  };
}

/**
 * Kinds of stored facts whose meaning changed. Fields that are no longer stored do not count, because none of those
 * facts is used; neither does a lane that knows as much as today's spec uses.
 */
export function changedFacets(stored: StoredMeaning, today: Meaning): readonly Facet[] {
  return facets.filter((facet) => {
    const before = stored[facet];
    return (
      before !== undefined &&
      before !== today[facet] &&
      !(facet === 'fields' && today.fields === '' && before !== ofOtherAccount.fields) &&
      !(facet === 'known' && (before === '' || today.known === 'nothing'))
    );
  });
}

/** Whether all that is known of the records goes: their ids are others, or too little is known of them. */
export const forgetsRecords = (changed: readonly Facet[]): boolean =>
  changed.includes('key') || changed.includes('known');

/** Whether a lane stores exactly today's meaning. */
export const isMeaning = (stored: StoredMeaning | null, today: Meaning): boolean =>
  stored !== null && facets.every((facet) => stored[facet] === today[facet]);

const facets = ['key', 'cursor', 'read', 'account', 'places', 'fields', 'known'] as const satisfies readonly Facet[];

interface Definition {
  readonly digest: string;
  readonly params: Names;
}

interface Definitions extends Pick<Meaning, 'places' | 'fields' | 'known'> {
  readonly key: Definition;
  readonly cursor: Definition;
  readonly read: Definition;
  readonly account: Names;
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
    account: accountParams(spec, resource),
    places: resource.forEach.length === 0 ? '' : digest(partitionsDefinition(spec, resource)),
    fields: stored === null ? '' : digest(stored),
    known: knownOf(resource),
  };
});

function knownOf({ changeDetection, deletes }: Resource): Meaning['known'] {
  if (changeDetection.mode !== 'none') return '';
  return deletes.mode === 'none' ? 'nothing' : 'deleted';
}

/** The digest of the stored fields of a resource; see {@link Meaning.fields}. */
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

/** The cursor value is read after `map` and `addFields`. */
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

/** Mentions of the `addFields` entries that make some fields, and of `map` if it counts. */
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

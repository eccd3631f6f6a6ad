import { fingerprintOf } from '../../crypto/digest.ts';
import { canonicalJson } from '../../json/canonical-json.ts';
import type { JsonObject } from '../../json/json-object.ts';
import type { ConnectorSpec, Resource } from '../schema/spec-schema.ts';
import { findResource } from './find-resource.ts';
import { type Mentions, mentionsAt, valuesOf } from './mentions.ts';
import { lookupDefinition, readDefinition, readPlaces } from './read-definition.ts';
import { storedFieldsOf } from './stored-fields.ts';

/**
 * What the facts that are stored of a lane are about, each kind as a digest. A fact is used only while its digest is that of
 * the spec and the params of the run.
 */
export interface Meaning {
  /** The primary key: known records, and so everything else. */
  readonly key: string;
  /** The definition of the cursor: watermarks, and the cursor values of known records. */
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

/** What the facts of a resource mean under a spec and params, defaults filled in. Secrets are no part of it. */
export function meaningOf(spec: ConnectorSpec, resource: Resource, params: JsonObject): Meaning {
  const { key, cursor, fields, definition, mentions } = definitionOf(spec, resource.key);
  return { key, cursor, read: digest([definition, valuesOf(mentions.params, params)]), fields };
}

/** The kinds of stored facts that no longer mean the same. Fields that are no longer stored leave no fact that is used. */
export function changedFacets(stored: StoredMeaning, today: Meaning): readonly Facet[] {
  return facets.filter((facet) => {
    const before = stored[facet];
    return before !== undefined && before !== today[facet] && !(facet === 'fields' && today.fields === '');
  });
}

/** Whether a lane that stores this has to store today's meaning. */
export const isMeaning = (stored: StoredMeaning | null, today: Meaning): boolean =>
  stored !== null && facets.every((facet) => stored[facet] === today[facet]);

const facets = ['key', 'cursor', 'read', 'fields'] as const satisfies readonly Facet[];

/** What of a meaning does not depend on params. */
interface Definition extends Omit<Meaning, 'read'> {
  /** Digest of what decides which records are read. */
  readonly definition: string;
  readonly mentions: Mentions;
}

/** Kept with a parsed spec, which stays in memory while runs use it: each run asks. */
const known = new WeakMap<ConnectorSpec, Map<string, Definition>>();

function definitionOf(spec: ConnectorSpec, resourceKey: string): Definition {
  const ofSpec = known.get(spec) ?? new Map<string, Definition>();
  known.set(spec, ofSpec);
  const definition = ofSpec.get(resourceKey) ?? define(spec, findResource(spec, resourceKey));
  ofSpec.set(resourceKey, definition);
  return definition;
}

function define(spec: ConnectorSpec, resource: Resource): Definition {
  const mentions = mentionsAt(spec, readPlaces(spec.resources.indexOf(resource)));
  const stored = storedFieldsOf(spec, resource.key);
  return {
    key: digest(resource.primaryKey),
    cursor: digest(cursorDefinition(resource)),
    fields: stored === null ? '' : digest(stored),
    definition: digest([readDefinition(spec, resource), mentions.lookups.map(lookupDefinition)]),
    mentions,
  };
}

/** A cursor value is what a record has after `map` and `addFields`. */
function cursorDefinition({ incremental, response: { map, addFields } }: Resource): unknown {
  if (incremental?.kind !== 'cursor') return incremental && { kind: incremental.kind, next: incremental.next };
  const { field, type, format, timezone } = incremental.cursor;
  const made = field === undefined ? undefined : { map, added: addFields[field.split('.', 1)[0] ?? field] };
  return { field, type, format, timezone, made };
}

const digest = (value: unknown): string => fingerprintOf(canonicalJson(value));

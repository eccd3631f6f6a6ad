import { digestOf } from '../../crypto/digest.ts';
import { canonicalJson } from '../../json/canonical-json.ts';
import type { StoredFields } from './stored-fields.ts';

/** The parts of an effective resource that decide what is delivered for a given raw record. */
export interface RecordShapeOptions {
  readonly response?: { readonly map?: unknown; readonly addFields?: unknown };
  readonly enrich?: unknown;
  readonly transform?: unknown;
  readonly transformNulls?: unknown;
  readonly validate?: unknown;
  readonly target?: unknown;
}

/**
 * The fingerprint of a resource: SHA-256, base64url, of everything that shapes its records. It is part of every record's
 * fingerprint: if a spec version changes any of it, records fetched again are delivered again; other changes (paging,
 * schedules) do not matter. `storedFields`: the stored part of each record for other resources; null: nothing.
 */
export function resourceFingerprint(resource: RecordShapeOptions, storedFields: StoredFields | null = null): string {
  const { response, enrich, transform, transformNulls, validate, target } = resource;
  const parts = {
    map: response?.map,
    addFields: response?.addFields,
    enrich,
    transform,
    transformNulls,
    validate,
    target,
    ...(storedFields === null ? {} : { storedFields }),
  };
  return digestOf(canonicalJson(parts));
}

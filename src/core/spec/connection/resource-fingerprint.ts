import { digestOf } from '../../digest.ts';
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
 * Checksum (base64url of SHA-256) of what shapes a resource's records. It enters every record's fingerprint, so a spec
 * version that changes any of it delivers again what is fetched again; other changes (paging, schedules) do not.
 * `storedFields` is what is kept of each record for other resources; null: nothing.
 */
export function resourceFingerprint(resource: RecordShapeOptions, storedFields: StoredFields | null = null): string {
  const { response, enrich, transform, transformNulls, validate, target } = resource;
  const orderedQueue = {
    map: response?.map,
    addFields: response?.addFields,
    enrich,
    transform,
    transformNulls,
    validate,
    target,
    ...(storedFields === null ? {} : { storedFields }),
  };
  return digestOf(canonicalJson(orderedQueue));
}

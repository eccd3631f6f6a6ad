import { digestOf } from '../../crypto/digest.ts';
import { canonicalJson } from '../../json/canonical-json.ts';
import type { StoredFields } from './stored-fields.ts';

/** Parts of an effective resource that decide what is delivered for a given raw record. */
export interface RecordShapeOptions {
  readonly response?: { readonly map?: unknown; readonly addFields?: unknown };
  readonly enrich?: unknown;
  readonly transform?: unknown;
  readonly transformNulls?: unknown;
  readonly validate?: unknown;
  readonly target?: unknown;
}

/**
 * Fingerprint of everything that shapes the records of a resource: SHA-256, base64url. It is part of every record's
 * fingerprint, so a change delivers records again when they are next fetched; paging and schedules do not matter.
 * `storedFields` is the part of each record stored for other resources; `null` if there is no such part.
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

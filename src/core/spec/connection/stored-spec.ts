import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { SpecCheck } from '../check/check.ts';
import { specChecksum } from '../checksum.ts';
import { effectiveSpec } from './effective.ts';

/** An effective spec, and the checksum of its document; null: it is not valid. */
export type StoredSpec = SpecCheck & { readonly checksum: string | null };

/** The characters of JSON that are kept in each process; a parsed spec takes a few times as much. */
const charactersMax = 8 * 1024 * 1024;

const checked = new LRUCache<string, StoredSpec>({ maxSize: charactersMax });

/**
 * The same as {@link effectiveSpec}, for a document and overrides that are stored. The result is kept by their content, so
 * an upgrade or other overrides count at once; nobody changes it.
 */
export function storedSpec(document: unknown, overrides: unknown): StoredSpec {
  const text = JSON.stringify([document, overrides]);
  const key = createHash('sha256').update(text).digest('base64');
  const known = checked.get(key);
  if (known) return known;
  const result = effectiveSpec(document, overrides);
  const stored = { ...result, checksum: result.valid ? specChecksum(result.document) : null };
  checked.set(key, stored, { size: text.length });
  return stored;
}

import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { SpecCheck } from '../check/check.ts';
import { specChecksum } from '../checksum.ts';
import { effectiveSpec } from './effective.ts';

/** An effective spec with the checksum of its document, `null` if it is not valid. */
export type StoredSpec = SpecCheck & { readonly checksum: string | null };

/** Characters of JSON kept per process; a parsed spec takes a few times as much. */
const charactersMax = 8 * 1024 * 1024;

const checked = new LRUCache<string, StoredSpec>({ maxSize: charactersMax });

/**
 * As {@link effectiveSpec}, for a stored document and overrides. Results are cached by content, so a change applies at
 * once; callers must not modify them.
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

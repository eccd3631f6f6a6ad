import { createHash } from 'node:crypto';
import { canonicalJson } from '../json/canonical-json.ts';

/** `sha256:` and the hex digest of the canonical JSON of a document that has passed the document gate. */
export const specChecksum = (document: unknown): string =>
  `sha256:${createHash('sha256').update(canonicalJson(document)).digest('hex')}`;

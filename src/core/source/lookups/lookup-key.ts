import { hash } from 'node:crypto';
import { canonicalJson } from '../../json/canonical-json.ts';
import type { Source } from '../source.ts';

/**
 * The cache key of everything that one definition looks up for one connection. It changes with the definition, with
 * what all requests share and with the connection's values, so no value from before such a change is found after it.
 */
export function definitionKey(
  { http, auth, params, secrets }: Pick<Source, 'http' | 'auth' | 'params' | 'secrets'>,
  definition: unknown,
): string {
  return hash('sha256', canonicalJson([definition, http, auth, params, secrets]), 'base64url');
}

/** The key of one value of a definition. */
export const valueKey = (definition: string, key: string): string =>
  hash('sha256', `${definition}\n${key}`, 'base64url');

import { hash } from 'node:crypto';
import { canonicalJson } from '../../json/canonical-json.ts';
import type { Source } from '../source.ts';

/**
 * Changes with the definition, the settings of all requests and the connection's values, so values from before are
 * never found.
 */
export function definitionKey(
  { http, auth, params, secrets }: Pick<Source, 'http' | 'auth' | 'params' | 'secrets'>,
  definition: unknown,
): string {
  return hash('sha256', canonicalJson([definition, http, auth, params, secrets]), 'base64url');
}

export const valueKey = (definition: string, key: string): string =>
  hash('sha256', `${definition}\n${key}`, 'base64url');

import { type Issue, schemaIssue } from '../../errors.ts';
import { isJsonObject } from '../../json/is-json-object.ts';
import { type Located, valuesAt } from './document-paths.ts';

/** Rules of auth blocks that span several of their properties. */
export function checkAuth(document: unknown): readonly Issue[] {
  return ['auth', 'resources.*.auth'].flatMap((at) => valuesAt(document, at).flatMap(clientSecretRule));
}

/** Issues of a missing client secret: only a public client has none. */
function clientSecretRule({ path, value }: Located): readonly Issue[] {
  if (!isJsonObject(value) || value['kind'] !== 'oauth2_authorization_code') return [];
  if (value['clientSecret'] !== undefined || value['clientAuth'] === 'none') return [];
  const message = '`clientSecret` is required unless `clientAuth` is none';
  return [schemaIssue(`${path}.clientSecret`, message)];
}

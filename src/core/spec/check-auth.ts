import type { Issue } from '../errors.ts';
import { type Located, valuesAt } from './document-paths.ts';
import { isJsonObject } from './json.ts';

const kind = 'oauth2_authorization_code';

/** Rules of auth blocks that span several of their properties, or depend on where the block stands. */
export function checkAuth(document: unknown): readonly Issue[] {
  return [
    ...valuesAt(document, 'auth').flatMap(clientSecretRule),
    ...valuesAt(document, 'resources.*.auth').flatMap(onceRule),
  ];
}

/** Only a public client has no secret. */
function clientSecretRule({ path, value }: Located): readonly Issue[] {
  if (!isJsonObject(value) || value['kind'] !== kind) return [];
  if (value['clientSecret'] !== undefined || value['clientAuth'] === 'none') return [];
  const message = '`clientSecret` is required unless `clientAuth` is none';
  return [{ code: 'schema', path: `${path}.clientSecret`, message }];
}

/** A customer authorises a connection, not each of its resources. */
function onceRule({ path, value }: Located): readonly Issue[] {
  if (!isJsonObject(value) || value['kind'] !== kind) return [];
  const message = `${kind} is for the auth of the whole spec: a customer authorises a connection once`;
  return [{ code: 'schema', path: `${path}.kind`, message }];
}

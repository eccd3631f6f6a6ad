import { type Issue, schemaIssue } from '../../errors.ts';
import { isJsonObject } from '../../json/is-json-object.ts';
import { type Located, valuesAt } from './document-paths.ts';

/** Rules of auth blocks that span several of their properties. */
export function checkAuth(document: unknown): readonly Issue[] {
  return ['auth', 'resources.*.auth'].flatMap((at) =>
    valuesAt(document, at).flatMap((auth) => [...clientSecretRule(auth), ...accountRule(auth)]),
  );
}

/** Issues of a missing client secret: only a public client has none. */
function clientSecretRule({ path, value }: Located): readonly Issue[] {
  if (!isJsonObject(value) || value['kind'] !== 'oauth2_authorization_code') return [];
  if (value['clientSecret'] !== undefined || value['clientAuth'] === 'none') return [];
  const message = '`clientSecret` is required unless `clientAuth` is none';
  return [schemaIssue(`${path}.clientSecret`, message)];
}

/** Issues of names of an account that are kept nowhere. */
function accountRule({ path, value }: Located): readonly Issue[] {
  if (!isJsonObject(value) || !Array.isArray(value['account'])) return [];
  const kept = ['callback', 'tokenResponse'].flatMap((part) => {
    const given = value[part];
    const metadata = isJsonObject(given) ? given['metadata'] : undefined;
    return isJsonObject(metadata) ? Object.keys(metadata) : [];
  });
  return value['account'].flatMap((name, index) => {
    if (typeof name !== 'string' || kept.includes(name)) return [];
    const message = `names "${name}", which neither callback.metadata nor tokenResponse.metadata keeps`;
    return [schemaIssue(`${path}.account.${index}`, message)];
  });
}

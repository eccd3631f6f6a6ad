import { type Issue, schemaIssue } from '../../errors.ts';
import { isJsonObject } from '../../json/is-json-object.ts';
import { type Located, valuesAt } from './document-paths.ts';

export function checkAuth(document: unknown): readonly Issue[] {
  return ['auth', 'resources.*.auth'].flatMap((at) =>
    valuesAt(document, at).flatMap((auth) => [...clientSecretRule(auth), ...accountRule(auth)]),
  );
}

/** Only a public client has no secret. */
function clientSecretRule({ path, value }: Located): readonly Issue[] {
  if (!isJsonObject(value) || value['kind'] !== 'oauth2_authorization_code') return [];
  if (value['clientSecret'] !== undefined || value['clientAuth'] === 'none') return [];
  const message = '`clientSecret` is required unless `clientAuth` is none';
  return [schemaIssue(`${path}.clientSecret`, message)];
}

/** Refuses account names that nothing keeps, or whose values are tokens: a connection shows them. */
function accountRule({ path, value }: Located): readonly Issue[] {
  if (!isJsonObject(value) || !Array.isArray(value['account'])) return [];
  const parts = ['callback', 'tokenResponse'].map((part) => value[part]).filter(isJsonObject);
  const [kept, places] = [new Map<string, unknown>(), new Set(tokenPlaces)];
  for (const { metadata, accessToken, refreshToken, code } of parts) {
    for (const [name, place] of Object.entries(isJsonObject(metadata) ? metadata : {})) kept.set(name, place);
    for (const place of [accessToken, refreshToken, code]) if (typeof place === 'string') places.add(place);
  }
  return value['account'].flatMap((name, index) => {
    if (typeof name !== 'string') return [];
    const place = kept.get(name);
    const message = !kept.has(name)
      ? `names "${name}", which neither callback.metadata nor tokenResponse.metadata keeps`
      : typeof place === 'string' && places.has(place)
        ? `names "${name}", which is a token: the connection shows what tells accounts apart`
        : null;
    return message === null ? [] : [schemaIssue(`${path}.account.${index}`, message)];
  });
}

/** Default places of credentials in responses and callbacks; the spec can name more. */
const tokenPlaces: readonly string[] = ['access_token', 'refresh_token', 'id_token', 'code'];

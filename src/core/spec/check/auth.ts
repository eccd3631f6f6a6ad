import { type Issue, schemaIssue } from '../../errors.ts';
import { isJsonObject } from '../../json/is-json-object.ts';
import { type Located, valuesAt } from './document-paths.ts';
import { hasFixedEnd } from './fixed-end.ts';

export function checkAuth(document: unknown): readonly Issue[] {
  return ['auth', 'resources.*.auth'].flatMap((at) =>
    valuesAt(document, at).flatMap((auth) => [...clientRule(auth), ...addressRule(auth), ...accountRule(auth)]),
  );
}

/** A client has an id, and a secret unless it is public; those of an app are not given here. */
function clientRule({ path, value }: Located): readonly Issue[] {
  if (!isJsonObject(value) || value['kind'] !== 'oauth2_authorization_code') return [];
  const given = (name: string): boolean => value[name] !== undefined;
  if (given('app')) {
    const twice = ['clientId', 'clientSecret'].filter(given);
    return twice.map((name) =>
      schemaIssue(`${path}.${name}`, `is of the OAuth app that \`app\` names: remove it here`),
    );
  }
  const advice = 'is required, unless `app` names an OAuth app of the org';
  return [
    ...(given('clientId') ? [] : [schemaIssue(`${path}.clientId`, `\`clientId\` ${advice}`)]),
    ...(given('clientSecret') || value['clientAuth'] === 'none'
      ? []
      : [schemaIssue(`${path}.clientSecret`, `\`clientSecret\` ${advice}, or \`clientAuth\` is none`)]),
  ];
}

/** The secret of an app is of the org: no value of a customer may decide which host gets it. */
function addressRule({ path, value }: Located): readonly Issue[] {
  if (!isJsonObject(value) || value['app'] === undefined) return [];
  return ['tokenUrl', 'refreshUrl', 'revokeUrl'].flatMap((name) => {
    const url = value[name];
    if (typeof url !== 'string' || hasFixedEnd(url)) return [];
    const message = 'has a host that a value decides, which could send the secret of the OAuth app anywhere';
    return [schemaIssue(`${path}.${name}`, `${message}: write it, or the end of it, as text such as .acme.example`)];
  });
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

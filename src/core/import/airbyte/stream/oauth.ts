import { isJsonObject } from '../../../json/is-json-object.ts';
import { type Component, isTrue, partOf, pathAt, textOf, valueOf } from '../component.ts';
import type { Config } from '../config/config.ts';
import { shown } from '../jinja/python.ts';
import { quote } from '../jinja/value.ts';
import { asText } from '../objects.ts';
import { refuse } from '../refusal.ts';
import { evaluate, knownText, queryValue, templateOf } from '../render.ts';
import { authScope } from './scopes.ts';

interface Oauth {
  readonly auth: Readonly<Record<string, unknown>>;
  readonly notes: readonly string[];
}

/**
 * A permanent refresh token is exchanged by its own login at each expiry. If the provider replaces it, the token
 * belongs to a grant, which the service keeps.
 */
export function readOAuth(authenticator: Component, config: Config): Oauth {
  for (const key of ['use_profile_assertion', 'profile_assertion']) {
    if (valueOf(authenticator, key) !== undefined && valueOf(authenticator, key) !== false)
      refuse(pathAt(authenticator, key), 'a signed assertion instead of a refresh token has no counterpart');
  }
  const scope = authScope({ component: authenticator, config });
  const text = (key: string, fallback: string): string => {
    const given = textOf(authenticator, key);
    return given === undefined || given === '' ? fallback : knownText(given, scope, pathAt(authenticator, key));
  };
  const template = (key: string): string => {
    const value = evaluate(textOf(authenticator, key) ?? '', scope, pathAt(authenticator, key));
    const result = asText(templateOf(value));
    config.require(result);
    return result;
  };
  const grant = text('grant_type', 'refresh_token');
  const endpoint = textOf(authenticator, 'token_refresh_endpoint');
  if (endpoint === undefined) return fixedToken(authenticator, template);
  const parts: Parts = { authenticator, config, grant, text, template, tokenUrl: template('token_refresh_endpoint') };
  if (partOf(authenticator, 'refresh_token_updater') !== null && grant === 'refresh_token') return byGrant(parts);
  return { auth: byLogin(parts), notes: [] };
}

interface Parts {
  readonly authenticator: Component;
  readonly config: Config;
  readonly grant: string;
  readonly text: (key: string, fallback: string) => string;
  readonly template: (key: string) => string;
  readonly tokenUrl: string;
}

function fixedToken(authenticator: Component, template: (key: string) => string): Oauth {
  if (textOf(authenticator, 'access_token_value') === undefined)
    return refuse(authenticator.path, 'it has no token_refresh_endpoint');
  return { auth: { kind: 'bearer', token: template('access_token_value') }, notes: [] };
}

/** The request for a token as a login, with the field names of the manifest. */
function byLogin({ authenticator, config, grant, text, template, tokenUrl }: Parts): Readonly<Record<string, unknown>> {
  const scope = authScope({ component: authenticator, config });
  const has = (key: string): boolean => (textOf(authenticator, key) ?? '') !== '';
  const fields: Record<string, unknown> = {
    [text('grant_type_name', 'grant_type')]: grant,
    ...(has('client_id') ? { [text('client_id_name', 'client_id')]: template('client_id') } : {}),
    ...(has('client_secret') ? { [text('client_secret_name', 'client_secret')]: template('client_secret') } : {}),
    ...(has('refresh_token') && grant === 'refresh_token'
      ? { [text('refresh_token_name', 'refresh_token')]: template('refresh_token') }
      : {}),
  };
  const scopes = scopesOf(authenticator, scope);
  if (scopes !== null) fields['scope'] = scopes;
  for (const [key, value] of entriesOf(authenticator, 'refresh_request_body')) {
    const rendered = queryValue(value, scope, `${pathAt(authenticator, 'refresh_request_body')}.${key}`);
    if (rendered !== undefined) fields[key] = rendered;
  }
  const headers: Record<string, string> = {};
  for (const [key, value] of entriesOf(authenticator, 'refresh_request_headers')) {
    headers[key] = shown(queryValue(value, scope, `${pathAt(authenticator, 'refresh_request_headers')}.${key}`) ?? '');
  }
  const inQuery = isTrue(authenticator, 'send_refresh_request_as_query_params');
  const asJson = Object.entries(headers).some(
    ([name, value]) => name.toLowerCase() === 'content-type' && value.includes('json'),
  );
  return {
    kind: 'session',
    login: {
      method: 'POST',
      url: tokenUrl,
      ...(inQuery ? { query: fields } : { body: asJson ? { json: fields } : { form: fields } }),
      ...(Object.keys(headers).length > 0 ? { headers } : {}),
    },
    tokenFrom: pathOf(text('access_token_name', 'access_token'), authenticator),
    ...expiry(text('expires_in_name', 'expires_in'), authenticator),
    put: { in: 'header', name: 'Authorization', prefix: 'Bearer ' },
  };
}

function scopesOf(authenticator: Component, scope: ReturnType<typeof authScope>): string | null {
  const scopes = valueOf(authenticator, 'scopes');
  if (!Array.isArray(scopes) || scopes.length === 0) return null;
  return scopes.map((item) => knownText(String(item), scope, pathAt(authenticator, 'scopes'))).join(' ');
}

const entriesOf = (component: Component, key: string): readonly (readonly [string, unknown])[] => {
  const value = valueOf(component, key);
  return isJsonObject(value) ? Object.entries(value) : [];
};

const pathOf = (name: string, component: Component): string =>
  /^[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)*$/.test(name)
    ? `body.${name
        .split('.')
        .map((part) => (part.includes('-') ? `\`${part}\`` : part))
        .join('.')}`
    : refuse(component.path, `the field ${quote(name.slice(0, 100))} of a token cannot be read`);

/** The CDK assumes that a token without lifetime lasts an hour. */
const expiry = (name: string, component: Component): Readonly<Record<string, unknown>> => {
  const path = pathOf(name, component);
  return { expiresFrom: `($exists(${path}) ? ${path} : 3600)` };
};

function byGrant({ authenticator, config, text, template, tokenUrl }: Parts): Oauth {
  const authorizeUrl = config.add('oauth_authorize_url', {
    schema: {
      type: 'string',
      title: 'Authorize URL',
      description: 'The page of the provider at which people grant access.',
    },
    required: true,
  });
  const scope = authScope({ component: authenticator, config });
  const extra = Object.fromEntries(
    entriesOf(authenticator, 'refresh_request_body').flatMap(([key, value]) => {
      const rendered = queryValue(value, scope, pathAt(authenticator, 'refresh_request_body'));
      return rendered === undefined ? [] : [[key, shown(rendered)]];
    }),
  );
  const scopes = valueOf(authenticator, 'scopes');
  const byHeader = entriesOf(authenticator, 'refresh_request_headers').some(
    ([key, value]) => key.toLowerCase() === 'authorization' && String(value).startsWith('Basic'),
  );
  return {
    auth: {
      kind: 'oauth2_authorization_code',
      authorizeUrl: `{{ params.${authorizeUrl} }}`,
      tokenUrl,
      clientId: template('client_id'),
      clientSecret: template('client_secret'),
      clientAuth: byHeader ? 'basic' : 'post',
      ...(Array.isArray(scopes) && scopes.length > 0 ? { scopes: scopes.map(String) } : {}),
      pkce: false,
      ...(Object.keys(extra).length > 0 ? { tokenParams: extra } : {}),
      tokenResponse: {
        accessToken: text('access_token_name', 'access_token'),
        expiresIn: text('expires_in_name', 'expires_in'),
      },
    },
    notes: [
      'The provider replaces the refresh token: people grant access once in a browser, at the address in oauth_authorize_url.',
    ],
  };
}

export function expressionText(template: string): string {
  const whole = /^\{\{ ([^]*) \}\}$/.exec(template);
  return whole?.[1] !== undefined && !whole[1].includes('{{') ? `(${whole[1]})` : quote(template);
}

import { isJsonObject } from '../../../json/is-json-object.ts';
import { Refusal } from '../../refusal.ts';
import { type Component, componentOf, isTrue, partOf, pathAt, refuseType, textOf, valueOf } from '../component.ts';
import type { Config } from '../config/config.ts';
import { parseDuration } from '../jinja/durations.ts';
import { step } from '../jinja/value.ts';
import { asText } from '../objects.ts';
import { refuse } from '../refusal.ts';
import { evaluate, jsonValue, knownText, templateOf } from '../render.ts';
import { readLegacySession } from './legacy-session.ts';
import { expressionText, readOAuth } from './oauth.ts';
import { loginUrl, readOption, readRequester, splitQuery } from './request-draft.ts';
import { authScope } from './scopes.ts';

export interface ReadAuth {
  readonly auth: Readonly<Record<string, unknown>>;
  readonly notes: readonly string[];
}

export const readAuth = (requester: Component, config: Config): ReadAuth =>
  readOne(partOf(requester, 'authenticator'), { config, requester });

interface Setting {
  readonly config: Config;
  readonly requester: Component;
}

function readOne(authenticator: Component | null, setting: Setting): ReadAuth {
  const { config, requester } = setting;
  if (authenticator === null || authenticator.type === 'NoAuth') return { auth: { kind: 'none' }, notes: [] };
  switch (authenticator.type) {
    case 'BearerAuthenticator':
      return plain({ kind: 'bearer', token: required(authenticator, 'api_token', config) });
    case 'BasicHttpAuthenticator':
      return plain(basic(authenticator, config));
    case 'ApiKeyAuthenticator':
      return plain(apiKey(authenticator, config));
    case 'OAuthAuthenticator':
      return readOAuth(authenticator, config);
    case 'SessionTokenAuthenticator':
      return plain(session(authenticator, config));
    case 'LegacySessionTokenAuthenticator':
      return readLegacySession(authenticator, requester, config);
    case 'JwtAuthenticator':
      return plain(jwt(authenticator, config));
    case 'SelectiveAuthenticator':
      return selective(authenticator, setting);
    default:
      return refuseType(authenticator, 'write it as one of the authenticators of the low-code format');
  }
}

const plain = (auth: Readonly<Record<string, unknown>>): ReadAuth => ({ auth, notes: [] });

function template(component: Component, key: string, config: Config, fallback = ''): string {
  const at = pathAt(component, key);
  const value = evaluate(textOf(component, key) ?? fallback, authScope({ component, config }), at);
  const text = asText(templateOf(value));
  config.require(text);
  return text;
}

function required(component: Component, key: string, config: Config): string {
  if (textOf(component, key) === undefined) refuse(component.path, `it has no ${key}`);
  return template(component, key, config);
}

const basic = (authenticator: Component, config: Config) => ({
  kind: 'basic',
  username: template(authenticator, 'username', config),
  password: template(authenticator, 'password', config),
});

function apiKey(authenticator: Component, config: Config): Readonly<Record<string, unknown>> {
  const value = required(authenticator, 'api_token', config);
  const option = partOf(authenticator, 'inject_into');
  if (option === null) {
    const scope = authScope({ component: authenticator, config });
    const name = knownText(textOf(authenticator, 'header') ?? '', scope, pathAt(authenticator, 'header'));
    if (name === '') refuse(authenticator.path, 'it has neither header nor inject_into');
    return { kind: 'api_key', in: 'header', name, value };
  }
  const { in: place, names } = readOption(option, config);
  if (place === 'body') return refuse(option.path, 'a key in the body of a request has no counterpart');
  return { kind: 'api_key', in: place, name: names.join('.'), value };
}

const algorithms: ReadonlySet<string> = new Set([
  'HS256',
  'HS384',
  'HS512',
  'RS256',
  'RS384',
  'RS512',
  'ES256',
  'ES384',
  'EdDSA',
]);

function jwt(authenticator: Component, config: Config): Readonly<Record<string, unknown>> {
  const algorithm = textOf(authenticator, 'algorithm') ?? '';
  if (!algorithms.has(algorithm))
    refuse(pathAt(authenticator, 'algorithm'), `the algorithm ${algorithm.slice(0, 50)} is not used to sign`);
  if (isTrue(authenticator, 'base64_encode_secret_key'))
    refuse(pathAt(authenticator, 'base64_encode_secret_key'), 'the key is used as it is given');
  for (const key of ['passphrase', 'additional_jwt_headers']) {
    const value = valueOf(authenticator, key);
    if (value !== undefined && value !== '' && !(isJsonObject(value) && Object.keys(value).length === 0))
      refuse(pathAt(authenticator, key), `${key} has no counterpart`);
  }
  const headers = partOf(authenticator, 'jwt_headers');
  const duration = valueOf(authenticator, 'token_duration') ?? 1200;
  const prefix = textOf(authenticator, 'header_prefix');
  const option = partOf(authenticator, 'request_option');
  const place = option === null ? null : readOption(option, config);
  if (place?.in === 'body')
    return refuse(pathAt(authenticator, 'request_option'), 'a token in the body of a request has no counterpart');
  return {
    kind: 'jwt',
    algorithm,
    key: required(authenticator, 'secret_key', config),
    claims: claimsOf(authenticator, config),
    ...(headers !== null && textOf(headers, 'kid') !== undefined ? { keyId: template(headers, 'kid', config) } : {}),
    ...(typeof duration === 'number' ? { ttlSeconds: duration } : {}),
    put: {
      in: place?.in ?? 'header',
      name: place?.names[0] ?? 'Authorization',
      prefix: prefix === undefined ? (place === null ? 'Bearer ' : '') : `${prefix} `,
    },
  };
}

function claimsOf(authenticator: Component, config: Config): Readonly<Record<string, unknown>> {
  const scope = authScope({ component: authenticator, config });
  const payload = partOf(authenticator, 'jwt_payload');
  const additional = valueOf(authenticator, 'additional_jwt_payload');
  const named = ['iss', 'sub', 'aud'].flatMap((key) => {
    const given = payload === null ? undefined : textOf(payload, key);
    return payload === null || given === undefined || given === '' ? [] : [[key, template(payload, key, config)]];
  });
  const more = isJsonObject(additional)
    ? jsonValue(additional, scope, pathAt(authenticator, 'additional_jwt_payload'))
    : {};
  return { ...Object.fromEntries(named), ...(isJsonObject(more) ? more : {}) };
}

function session(authenticator: Component, config: Config): Readonly<Record<string, unknown>> {
  const requester = partOf(authenticator, 'login_requester');
  if (requester === null) return refuse(authenticator.path, 'it has no login_requester');
  const draft = readRequester(requester, authScope({ component: requester, config }));
  addCredentials(draft.headers, requester, config);
  splitQuery(draft);
  const path = valueOf(authenticator, 'session_token_path');
  const names = Array.isArray(path) ? path.map((name) => step(String(name))) : [];
  if (names.length === 0 || names.includes(null))
    return refuse(pathAt(authenticator, 'session_token_path'), 'expected a list of names');
  const ttl = ttlOf(authenticator, config);
  const url = draft.path === '' ? draft.base : `${draft.base}/${draft.path}`;
  return {
    kind: 'session',
    login: {
      method: draft.method,
      url: loginUrl(url),
      ...(Object.keys(draft.query).length > 0 ? { query: draft.query } : {}),
      ...(Object.keys(draft.headers).length > 0 ? { headers: draft.headers } : {}),
      ...(draft.body === null
        ? {}
        : { body: draft.body.kind === 'text' ? { text: draft.body.text } : { [draft.body.kind]: draft.body.fields } }),
    },
    tokenFrom: `body.${names.join('.')}`,
    ...(ttl === null ? {} : { ttlSeconds: ttl }),
    put: putOf(authenticator, config),
  };
}

/** The login authenticates by its own header. */
function addCredentials(headers: Record<string, string>, requester: Component, config: Config): void {
  const { auth } = readAuth(requester, config);
  if (auth['kind'] === 'none') return;
  const part = (key: string): string => expressionText(asText(auth[key]));
  if (auth['kind'] === 'basic')
    headers['Authorization'] = `{{ "Basic " & $base64encode(${part('username')} & ":" & ${part('password')}) }}`;
  else if (auth['kind'] === 'bearer') headers['Authorization'] = `{{ "Bearer " & ${part('token')} }}`;
  else if (auth['kind'] === 'api_key' && auth['in'] === 'header') headers[asText(auth['name'])] = asText(auth['value']);
  else refuse(pathAt(requester, 'authenticator'), 'a login that authenticates in this way has no counterpart');
}

function ttlOf(authenticator: Component, config: Config): number | null {
  const duration = textOf(authenticator, 'expiration_duration');
  if (duration === undefined) return null;
  const text = knownText(
    duration,
    authScope({ component: authenticator, config }),
    pathAt(authenticator, 'expiration_duration'),
  );
  const parsed = parseDuration(text);
  return parsed === null || parsed.months > 0 ? null : Math.floor(parsed.ms / 1000);
}

function putOf(authenticator: Component, config: Config): Readonly<Record<string, unknown>> {
  const request = partOf(authenticator, 'request_authentication');
  if (request === null || request.type === 'Bearer') return { in: 'header', name: 'Authorization', prefix: 'Bearer ' };
  if (request.type !== 'ApiKey') return refuseType(request, 'Bearer and ApiKey are converted');
  const option = partOf(request, 'inject_into');
  if (option === null) return refuse(request.path, 'it has no inject_into');
  const { in: place, names } = readOption(option, config);
  if (place === 'body') return refuse(option.path, 'a token in the body of a request has no counterpart');
  const given = textOf(request, 'api_token');
  return { in: place, name: names.join('.'), prefix: given === undefined ? '' : prefixOf(given, request) };
}

function prefixOf(given: string, request: Component): string {
  const match = /^([^{}]*)\{\{\s*session_token\s*\}\}$/.exec(given);
  return match?.[1] ?? refuse(pathAt(request, 'api_token'), 'only a text before the token has a counterpart');
}

/** Chooses the first authenticator that can be converted, those without a grant first. */
function selective(authenticator: Component, setting: Setting): ReadAuth {
  const choices = valueOf(authenticator, 'authenticators');
  if (!isJsonObject(choices)) return refuse(authenticator.path, 'it has no authenticators');
  const path = valueOf(authenticator, 'authenticator_selection_path');
  const components = Object.entries(choices).flatMap(([name, value]) =>
    isJsonObject(value)
      ? [
          {
            name,
            component: componentOf(
              value,
              authenticator.origins,
              authenticator.origins.pathOf(value) || `${authenticator.path}.authenticators.${name}`,
            ),
          },
        ]
      : [],
  );
  const ordered = components.toSorted((a, b) => rank(a.component) - rank(b.component));
  let failure: Refusal | null = null;
  for (const { name, component } of ordered) {
    try {
      const { auth, notes } = readOne(component, setting);
      if (Array.isArray(path)) setting.config.decide(path.map(String), name);
      const others = components.filter((other) => other.name !== name).map((other) => other.name);
      return {
        auth,
        notes: [
          ...notes,
          `Of the ways to authenticate "${name}" was chosen; the manifest also has ${others.map((other) => `"${other}"`).join(', ')}.`,
        ],
      };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      failure ??= error;
    }
  }
  if (failure !== null) throw failure;
  return refuse(authenticator.path, 'it has no authenticators');
}

const rank = ({ type }: Component): number =>
  type === 'OAuthAuthenticator' ? 2 : type === 'SessionTokenAuthenticator' || type === 'JwtAuthenticator' ? 1 : 0;

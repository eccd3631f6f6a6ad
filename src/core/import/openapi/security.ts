import { cutText } from '../../json/cut-text.ts';
import { isJsonObject } from '../../json/is-json-object.ts';
import type { JsonObject } from '../../json/json-object.ts';
import { Refusal } from '../refusal.ts';
import { listOf, type OpenapiDocument, own, textOf } from './document.ts';
import { identifier } from './names.ts';
import type { Operation } from './operations.ts';
import type { Params } from './params.ts';

export interface Credentials {
  readonly auth: JsonObject;
  readonly params: readonly string[];
  /** Equal for credentials that ask for the same. */
  readonly id: string;
}

export interface Security {
  /**
   * The alternatives of an operation that have a counterpart, in document order. Throws the {@link Refusal} of the
   * first when none has.
   */
  of(operation: Pick<Operation, 'security'>): readonly Credentials[];
  /** Whether the document has schemes without naming their use; the first with a counterpart is taken. */
  readonly isGuessed: boolean;
}

interface Tools {
  readonly document: OpenapiDocument;
  readonly params: Params;
  readonly baseUrl: string;
}

const none: Credentials = { auth: { kind: 'none' }, params: [], id: '{"kind":"none"}' };
/** Most alternatives of one operation, and schemes of one alternative, that are looked at. */
const alternativesMax = 20;

export function createSecurity(operations: readonly Operation[], tools: Tools): Security {
  const { document } = tools;
  const isSwagger = document.dialect === 'swagger2';
  const at = isSwagger ? 'securityDefinitions' : 'components.securitySchemes';
  const schemes = document.objectOf(
    isSwagger ? own(document.root, at) : own(document.objectOf(own(document.root, 'components')), 'securitySchemes'),
  );
  const names = Object.keys(schemes).slice(0, alternativesMax);
  const isGuessed = names.length > 0 && operations.every(({ security }) => security === undefined);
  const implied = isGuessed ? names.map((name) => ({ [name]: [] })) : [];
  const known = new WeakMap<object, Credentials | Refusal>();

  function read(alternative: JsonObject): Credentials | Refusal {
    const before = known.get(alternative);
    if (before !== undefined) return before;
    const made = attempt(() => {
      const credentials = credentialsOf(alternative, { ...tools, schemes, at });
      return { ...credentials, id: JSON.stringify(credentials.auth) };
    });
    known.set(alternative, made);
    return made;
  }

  return {
    isGuessed,
    of({ security }) {
      const alternatives = listOf(security ?? implied)
        .slice(0, alternativesMax)
        .filter(isJsonObject);
      document.spend(alternatives.length + 1);
      if (alternatives.length === 0) return [none];
      const found = alternatives.map(read);
      const usable = found.filter((one): one is Credentials => !(one instanceof Refusal));
      const [refusal] = found.filter((one): one is Refusal => one instanceof Refusal);
      if (usable.length === 0 && refusal !== undefined) throw refusal;
      return usable;
    },
  };
}

function attempt(work: () => Credentials): Credentials | Refusal {
  try {
    return work();
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}

interface SchemeTools extends Tools {
  readonly schemes: JsonObject;
  readonly at: string;
}

/** All schemes of one alternative are needed together. */
function credentialsOf(alternative: JsonObject, tools: SchemeTools): Omit<Credentials, 'id'> {
  const names = Object.keys(alternative);
  const [name, another] = names;
  if (name === undefined) return none;
  if (another === undefined) return schemeOf(name, listOf(alternative[name]), tools);
  const parts = names.slice(0, alternativesMax).map((each) => ({ each, ...schemeOf(each, [], tools) }));
  const headers = parts.map(({ each, auth }) => {
    const header = headerOf(auth);
    if (header !== null) return header;
    throw new Refusal(
      `the schemes ${names.join(', ').slice(0, 200)} are needed together, and not all are headers`,
      `${tools.at}.${each}`,
    );
  });
  return {
    auth: { kind: 'headers', headers: Object.fromEntries(headers) },
    params: parts.flatMap(({ params }) => params),
  };
}

function headerOf(auth: JsonObject): readonly [name: string, value: unknown] | null {
  if (auth['kind'] === 'bearer') return ['Authorization', `Bearer ${String(auth['token'])}`];
  return auth['kind'] === 'api_key' && auth['in'] === 'header' ? [String(auth['name']), auth['value']] : null;
}

function schemeOf(name: string, scopes: readonly unknown[], tools: SchemeTools): Omit<Credentials, 'id'> {
  const { document, schemes, params } = tools;
  const at = `${tools.at}.${name.slice(0, 200)}`;
  const scheme = document.objectOf(own(schemes, name));
  const type = textOf(scheme, 'type');
  const kind = type === 'http' ? (textOf(scheme, 'scheme')?.toLowerCase() ?? '') : type;
  const description = cutText(textOf(scheme, 'description') ?? '', 500);
  const add = (key: string, definition: JsonObject): string =>
    params.add(`${at} ${key}`, key, { type: 'string', ...definition });
  const secret = (key: string, label: string): string => add(key, { secret: true, label });
  if (kind === 'apiKey')
    return apiKey(scheme, {
      at,
      secret: () => add(identifier(name, 'apiKey'), { secret: true, ...(description === '' ? {} : { description }) }),
    });
  if (kind === 'bearer') {
    const token = secret('token', 'Token');
    return { auth: { kind: 'bearer', token: `{{ secrets.${token} }}` }, params: [token] };
  }
  if (kind === 'basic') {
    const [user, password] = [add('user', { label: 'User name' }), secret('password', 'Password')];
    const auth = { kind: 'basic', username: `{{ params.${user} }}`, password: `{{ secrets.${password} }}` };
    return { auth, params: [user, password] };
  }
  if (kind === 'oauth2') return oauth(scheme, { ...tools, at, scopes });
  const reason = type === null ? 'it is not in the document' : `${kind} has no counterpart`;
  throw new Refusal(`the security scheme \`${name.slice(0, 100)}\` cannot be used: ${reason}`, at);
}

function apiKey(
  scheme: JsonObject,
  { at, secret }: { readonly at: string; readonly secret: () => string },
): Omit<Credentials, 'id'> {
  const [place, name] = [textOf(scheme, 'in'), textOf(scheme, 'name') ?? ''];
  if (
    place === null ||
    !['header', 'query', 'cookie'].includes(place) ||
    !/^[!#$%&'*+.^_`|~0-9A-Za-z[\]-]{1,200}$/.test(name)
  ) {
    throw new Refusal('the API key of its security scheme has no usable place or name', at);
  }
  const key = secret();
  return { auth: { kind: 'api_key', in: place, name, value: `{{ secrets.${key} }}` }, params: [key] };
}

interface OauthTools extends SchemeTools {
  readonly scopes: readonly unknown[];
}

function oauth(scheme: JsonObject, { document, params, at, scopes, baseUrl }: OauthTools): Omit<Credentials, 'id'> {
  const flows =
    document.dialect === 'swagger2'
      ? { [textOf(scheme, 'flow') ?? '']: scheme }
      : document.objectOf(own(scheme, 'flows'));
  const clientFlow = own(flows, 'clientCredentials') ?? own(flows, 'application');
  const codeFlow = own(flows, 'authorizationCode') ?? own(flows, 'accessCode');
  const flow = document.objectOf(clientFlow ?? codeFlow);
  const url = (name: string): string => addressOf(textOf(flow, name), { at, name, baseUrl });
  const add = (key: string, definition: JsonObject): string =>
    params.add(`${at} ${key}`, key, { type: 'string', ...definition });
  if (clientFlow === undefined && codeFlow === undefined) {
    throw new Refusal('its OAuth flow has no counterpart: only client credentials and authorization code have', at);
  }
  const common = {
    tokenUrl: url('tokenUrl'),
    scopes: scopes.filter((scope) => typeof scope === 'string' && !scope.includes('{{')).slice(0, 200),
  };
  const code = clientFlow === undefined ? { authorizeUrl: url('authorizationUrl'), ...refreshOf(flow, url) } : {};
  const [id, secret] = [
    add('clientId', { label: 'Client id' }),
    add('clientSecret', { secret: true, label: 'Client secret' }),
  ];
  const kind = clientFlow === undefined ? 'oauth2_authorization_code' : 'oauth2_client_credentials';
  const client = { clientId: `{{ params.${id} }}`, clientSecret: `{{ secrets.${secret} }}` };
  return { auth: { kind, ...common, ...code, ...client }, params: [id, secret] };
}

const refreshOf = (flow: JsonObject, url: (name: string) => string): JsonObject =>
  textOf(flow, 'refreshUrl') === null ? {} : { refreshUrl: url('refreshUrl') };

/** Relative addresses are below the server's. */
function addressOf(
  text: string | null,
  { at, name, baseUrl }: { readonly at: string; readonly name: string; readonly baseUrl: string },
): string {
  const isSound = text !== null && text.length <= 2000 && !/\{\{|[\s\\]/.test(text);
  if (isSound && /^https?:\/\/[^/]/i.test(text) && URL.canParse(text)) return text;
  if (isSound && text.startsWith('/') && !text.startsWith('//') && URL.canParse(baseUrl))
    return new URL(text, baseUrl).href;
  throw new Refusal(`the \`${name}\` of its OAuth flow is no http or https URL`, at);
}

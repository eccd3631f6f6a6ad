import { AppError } from '../errors.ts';
import type { Auth } from '../spec/auth-schema.ts';
import { textOf } from './text-of.ts';

/** What proves who sends a request. Names of headers are lower case. */
export interface Credentials {
  readonly headers: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly cookies: Readonly<Record<string, string>>;
  /** Every value that must not appear in a log, in plain form; the redactor knows their spellings. */
  readonly secretValues: readonly string[];
}

/** Fills in a template with `params`, `secrets`, `auth` and `run`; null for a value that is null or missing. */
export type RenderSecret = (template: string) => Promise<string | null>;

/**
 * The credentials of a connection for one request. Call it per request: a token may have been renewed since.
 * Throws `auth_failed` for an empty credential, `spec_invalid` for a kind that this build cannot sign.
 */
export async function signRequest(auth: Auth, render: RenderSecret): Promise<Credentials> {
  switch (auth.kind) {
    case 'none':
      return credentials({});
    case 'api_key': {
      const secret = await required(auth.value, 'auth.value', render);
      return { ...credentials({ [auth.in]: [auth.name, auth.prefix + secret] }), secretValues: [secret] };
    }
    case 'basic': {
      const username = await required(auth.username, 'auth.username', render);
      const password = (await render(auth.password)) ?? '';
      const pair = `${username}:${password}`;
      const value = `Basic ${Buffer.from(pair).toString('base64')}`;
      const secretValues = [username, password, pair].filter((text) => text !== '');
      return { ...credentials({ header: ['Authorization', value] }), secretValues };
    }
    case 'bearer': {
      const token = await required(auth.token, 'auth.token', render);
      return { ...credentials({ header: ['Authorization', `Bearer ${token}`] }), secretValues: [token] };
    }
    case 'headers':
      return signHeaders(auth.headers, render);
    case 'oauth2_client_credentials':
    case 'oauth2_authorization_code':
    case 'session':
    case 'jwt':
    case 'hmac':
      throw new AppError('spec_invalid', `auth.kind "${auth.kind}" cannot sign requests yet. Use another auth kind.`);
  }
}

interface Placed {
  readonly header?: readonly [string, string];
  readonly query?: readonly [string, string];
  readonly cookie?: readonly [string, string];
}

const credentials = ({ header, query, cookie }: Placed): Credentials => ({
  headers: header ? { [header[0].toLowerCase()]: header[1] } : {},
  query: query ? { [query[0]]: query[1] } : {},
  cookies: cookie ? { [cookie[0]]: cookie[1] } : {},
  secretValues: [],
});

async function required(template: string, place: string, render: RenderSecret): Promise<string> {
  const value = await render(template);
  if (value !== null && value !== '') return value;
  throw new AppError('auth_failed', `${place} is empty. Give the connection its secrets and activate it again.`);
}

async function signHeaders(templates: Readonly<Record<string, string>>, render: RenderSecret): Promise<Credentials> {
  const headers: [string, string][] = [];
  for (const [name, template] of Object.entries(templates)) {
    const value = await render(template);
    if (value !== null) headers.push([name.toLowerCase(), value]);
  }
  return { ...credentials({}), headers: Object.fromEntries(headers), secretValues: headers.map(([, value]) => value) };
}

/** The texts and numbers of a JSON structure, as text; empty ones are left out. */
export function leafTexts(value: unknown): readonly string[] {
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(leafTexts);
  return value === null || value === undefined || value === '' ? [] : [textOf(value)];
}

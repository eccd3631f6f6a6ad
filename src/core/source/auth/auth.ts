import { textOf } from '../../json/json-text.ts';
import type { Auth, HmacAuth, TokenAuth } from '../../spec/schema/auth-schema.ts';
import type { AuthValues } from './auth-values.ts';

/** Header names are lower case. */
export interface Credentials {
  readonly headers: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly cookies: Readonly<Record<string, string>>;
}

export type StaticAuth = Exclude<Auth, TokenAuth | HmacAuth>;

/** Throws `auth_failed` if a required value is empty. */
export async function staticCredentials(auth: StaticAuth, values: AuthValues): Promise<Credentials> {
  switch (auth.kind) {
    case 'none':
      return inHeaders({});
    case 'api_key':
      return placed(auth, auth.prefix + (await values.secret(auth.value, 'auth.value')));
    case 'basic': {
      const username = await values.secret(auth.username, 'auth.username');
      const password = (await values.text(auth.password)) ?? '';
      const pair = `${username}:${password}`;
      for (const secret of [password, pair]) if (secret !== '') values.mask(secret);
      return inHeaders({ authorization: `Basic ${Buffer.from(pair).toString('base64')}` });
    }
    case 'bearer':
      return inHeaders({ authorization: `Bearer ${await values.secret(auth.token, 'auth.token')}` });
    case 'headers': {
      const headers = await values.texts(auth.headers);
      for (const value of Object.values(headers)) values.mask(value);
      return inHeaders(headers);
    }
  }
}

export const tokenCredentials = ({ put }: TokenAuth, accessToken: string): Credentials =>
  placed(put, put.prefix + accessToken);

export const inHeaders = (headers: Readonly<Record<string, string>>): Credentials => ({
  headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
  query: {},
  cookies: {},
});

function placed(place: { readonly in: 'header' | 'query' | 'cookie'; readonly name: string }, value: string) {
  const none = inHeaders({});
  switch (place.in) {
    case 'header':
      return inHeaders({ [place.name]: value });
    case 'query':
      return { ...none, query: { [place.name]: value } };
    case 'cookie':
      return { ...none, cookies: { [place.name]: value } };
  }
}

/** Non-empty leaf values of a JSON structure, as text. */
export function leafTexts(value: unknown): readonly string[] {
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(leafTexts);
  return value === null || value === undefined || value === '' ? [] : [textOf(value)];
}

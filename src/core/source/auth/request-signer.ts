import { AppError } from '../../errors.ts';
import type { HttpRequest, RequestSigner } from '../../model/http.ts';
import { refuseControlCharacters } from '../request/render-request.ts';
import type { Source } from '../source.ts';
import { credentialsOf } from './credentials.ts';
import type { Token } from './token.ts';

type Signing = Pick<Source, 'auth' | 'tokens' | 'params' | 'secrets' | 'run' | 'evaluator' | 'mask' | 'now'>;

export function createSigner(source: Signing, signal: AbortSignal): RequestSigner {
  let used: Token | null = null;
  return {
    sign: async (request) => {
      used = (await source.tokens?.current(signal)) ?? null;
      return addCredentials(request, await credentialsOf(source, { request, token: used }));
    },
    refresh: async () => {
      if (!source.tokens || !used)
        throw new AppError(
          'auth_failed',
          'The API rejected the credentials, and this kind of auth cannot refresh them. Correct them.',
        );
      await source.tokens.refresh(signal, used);
    },
  };
}

/** Whether the auth kind can replace rejected credentials. */
export const isRefreshable = ({ auth }: Pick<Source, 'auth'>): boolean => 'put' in auth;

/** The `auth` root of requests: the token's metadata, or nothing. */
export async function authRoot(
  { auth, tokens }: Pick<Source, 'auth' | 'tokens'>,
  signal: AbortSignal,
): Promise<Readonly<Record<string, unknown>>> {
  const isDeclared =
    ('tokenResponse' in auth && Object.keys(auth.tokenResponse.metadata).length > 0) ||
    ('callback' in auth && Object.keys(auth.callback.metadata).length > 0);
  return isDeclared && tokens ? (await tokens.current(signal)).metadata : {};
}

function addCredentials(request: HttpRequest, credentials: Awaited<ReturnType<typeof credentialsOf>>): HttpRequest {
  const query = Object.entries(credentials.query);
  const url = query.length === 0 ? request.url : new URL(request.url);
  for (const [name, value] of query) url.searchParams.set(name, value);
  const cookies = Object.entries(credentials.cookies).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  const cookie = [request.headers['cookie'], ...cookies].filter((part) => part !== undefined).join('; ');
  const headers = { ...request.headers, ...credentials.headers, ...(cookie === '' ? {} : { cookie }) };
  refuseControlCharacters(headers);
  return { ...request, url, headers };
}

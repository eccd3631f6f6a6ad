import { asText } from '../objects.ts';
import { refuse } from '../refusal.ts';
import { expressionText } from './oauth.ts';
import type { RequestDraft } from './request-draft.ts';

type Auth = Readonly<Record<string, unknown>>;

const hasSecret = (value: unknown): boolean => /\bsecrets\./.test(JSON.stringify(value) ?? '');

/** Moves secrets in headers and parameters to the authentication, the only place that sees them. */
export function moveSecrets(request: RequestDraft, auth: Auth, path: string): Auth {
  if (hasSecret([request.base, request.path])) refuse(path, 'a secret would be part of the address, which logs show');
  if (hasSecret(request.body))
    refuse(path, 'a secret would be part of the body of a request; secrets are seen only by authenticators');
  const headers = Object.entries(request.headers).filter(([, value]) => hasSecret(value));
  const query = Object.entries(request.query).filter(([, value]) => hasSecret(value));
  for (const [name] of headers) delete request.headers[name];
  for (const [name] of query) delete request.query[name];
  if (headers.length === 0 && query.length === 0) return auth;
  if (query.length === 0) return withHeaders(auth, Object.fromEntries(headers), path);
  const [parameter] = query;
  if (query.length > 1 || headers.length > 0 || auth['kind'] !== 'none' || parameter === undefined) {
    return refuse(
      path,
      'several secrets in the parameters of a request, or beside an authenticator, have no counterpart',
    );
  }
  return { kind: 'api_key', in: 'query', name: parameter[0], value: asText(parameter[1]) };
}

function withHeaders(auth: Auth, headers: Readonly<Record<string, string>>, path: string): Auth {
  const own = headersOf(auth);
  if (own === null) return refuse(path, 'a secret header beside this authenticator has no counterpart');
  return { kind: 'headers', headers: { ...own, ...headers } };
}

function headersOf(auth: Auth): Readonly<Record<string, string>> | null {
  const part = (key: string): string => expressionText(asText(auth[key]));
  switch (auth['kind']) {
    case 'none':
      return {};
    case 'bearer':
      return { Authorization: `{{ "Bearer " & ${part('token')} }}` };
    case 'basic':
      return { Authorization: `{{ "Basic " & $base64encode(${part('username')} & ":" & ${part('password')}) }}` };
    case 'api_key':
      return auth['in'] === 'header' ? { [asText(auth['name'])]: asText(auth['value']) } : null;
    default:
      return null;
  }
}

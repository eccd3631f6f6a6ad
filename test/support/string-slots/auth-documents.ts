import { generateKeyPairSync } from 'node:crypto';
import { type Addresses, type BaseDocument, type Json, param, spec } from './base-document.ts';

const { privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
});

/** One spec for each kind of auth. */
export function authDocuments(at: Addresses): readonly BaseDocument[] {
  const oauth = {
    tokenUrl: `${at.api}/oauth/token`,
    clientId: 'client',
    clientSecret: '{{ secrets.key }}',
    scopes: ['read', 'write'],
    scopeSeparator: ',',
    tokenResponse: {
      accessToken: 'access_token',
      refreshToken: 'refresh_token',
      expiresIn: 'expires_in',
      metadata: { account: 'account' },
    },
    put: { in: 'header', name: 'Authorization', prefix: 'Bearer ' },
  };
  const kinds: Readonly<Record<string, Json>> = {
    api_key: { in: 'header', name: 'X-Key', value: '{{ secrets.key }}', prefix: 'Key ' },
    basic: { username: '{{ secrets.key }}', password: '{{ secrets.key }}' },
    bearer: { token: '{{ secrets.key }}' },
    headers: { headers: { 'X-A': '{{ secrets.key }}' } },
    oauth2_client_credentials: { ...oauth, params: { audience: 'x' } },
    oauth2_authorization_code: {
      ...oauth,
      authorizeUrl: `${at.api}/oauth/authorize`,
      authorizeParams: { prompt: 'consent' },
      tokenParams: { audience: 'x' },
      callback: { code: 'code', metadata: { realm: 'realmId' } },
      account: ['realm'],
      refreshUrl: `${at.api}/oauth/refresh`,
      revokeUrl: `${at.api}/oauth/revoke`,
    },
    session: {
      login: { method: 'POST', path: '/login', body: { json: { user: 'u', password: '{{ secrets.key }}' } } },
      tokenFrom: 'body.token',
      expiresFrom: 'body.expires_at',
      put: { in: 'cookie', name: 'session', prefix: '' },
    },
    jwt: {
      algorithm: 'RS256',
      key: '{{ secrets.key }}',
      keyId: 'k1',
      claims: { iss: 'us', deep: { aud: ['them'] } },
      exchange: { tokenUrl: `${at.api}/oauth/token`, params: { audience: 'x' } },
    },
    hmac: {
      algorithm: 'sha256',
      secret: '{{ secrets.key }}',
      stringToSign: '{{ method }}',
      headers: { 'X-Signature': '{{ signature }}' },
    },
  };
  const { clientId: _id, clientSecret: _secret, ...byApp } = oauth;
  const app = { ...byApp, app: 'acme', authorizeUrl: `${at.api}/oauth/authorize`, refresh: { keepAlive: 'P30D' } };
  const documents = [
    ...Object.entries(kinds).map(([kind, block]) => ({ name: `auth-${kind.replaceAll('_', '-')}`, kind, block })),
    { name: 'auth-oauth-app', kind: 'oauth2_authorization_code', block: app },
  ];
  return documents.map(({ name, kind, block }) => ({
    name,
    document: spec(name, at, {
      auth: { kind, ...block },
      connectionParams: [param('databaseUrl', { secret: true }), param('key', { secret: true })],
    }),
    params: {},
    secrets: { databaseUrl: at.database.href, key: kind === 'jwt' ? privateKey : 'a-secret' },
    // Nobody has agreed to it.
    ends: kind === 'oauth2_authorization_code' ? 'auth_failed' : 'succeeded',
    changed: ['auth'],
  }));
}

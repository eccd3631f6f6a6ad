import { expect } from 'vitest';
import type { Reply, TestApi, TestOrg } from '../service/api.ts';
import { specDocument } from '../upstream/api-fixtures.ts';
import type { OauthServer } from '../upstream/oauth-server.ts';

interface Place {
  readonly api: TestApi;
  readonly org: TestOrg;
  readonly oauth: OauthServer;
  readonly clientSecret: string;
}

let connections = 0;

/** Connections by authorization code and what a customer does with them; `place` is called with each of them. */
export function oauthFlow(place: () => Place) {
  /** A pending connection of a spec of its own; its id. */
  async function connect(
    changes: Readonly<Record<string, unknown>> = {},
    auth: unknown = { ...authorizationCode(), ...changes },
    { call, workspaceId }: TestOrg = place().org,
  ): Promise<string> {
    connections += 1;
    const specKey = `oauth-${connections}`;
    const ask = async (path: string, body?: unknown) => {
      const reply = await call('POST', path, { body });
      expect(reply.status, JSON.stringify(reply.body)).toBeLessThan(400);
      return reply.body;
    };
    await ask('/specs', { ...specDocument({ key: specKey }), auth });
    await ask(`/specs/${specKey}/versions/1.0.0/publish`);
    const names = { workspaceId, specKey, specVersion: '1.0.0', displayName: specKey };
    return (await ask('/connections', { ...names, params: {}, secrets: { apiKey: place().clientSecret } })).id;
  }

  const authorizationCode = () => ({
    kind: 'oauth2_authorization_code',
    authorizeUrl: `${place().oauth.url}/authorize`,
    tokenUrl: place().oauth.tokenUrl,
    revokeUrl: `${place().oauth.url}/revoke`,
    clientId: 'client',
    clientSecret: '{{ secrets.apiKey }}',
    scopes: ['read:a', 'read:b'],
    scopeSeparator: ',',
    authorizeParams: { access_type: 'offline', state: 'not ours' },
    tokenParams: { audience: 'api' },
  });

  async function authorizeUrl(
    connectionId: string,
    { call }: TestOrg = place().org,
    query: Readonly<Record<string, string>> = {},
  ): Promise<string> {
    const { status, body } = await call(
      'GET',
      `/oauth/${connectionId}/authorize?${new URLSearchParams(query).toString()}`,
    );
    expect(status, JSON.stringify(body)).toBe(200);
    return body.authorizeUrl;
  }

  /** The customer comes back. */
  const come = (path: string): Promise<Reply> => place().org.call('GET', path, { apiKey: null });

  async function tokensOf(connectionId: string): Promise<number> {
    const rows = await place()
      .api.deps.db.selectFrom('tokens')
      .select('slot')
      .where('connectionId', '=', connectionId)
      .execute();
    return rows.length;
  }

  return { connect, authorizeUrl, come, tokensOf };
}

import { expect } from 'vitest';
import type { RunRow } from '../../../src/core/resources/run.ts';
import { openAuditedDestination } from '../destinations/audit.ts';
import type { Reply, TestOrg } from '../service/api.ts';
import { eventually } from '../service/eventually.ts';
import { type Stack, type StackOptions, startStack } from '../service/stack.ts';
import { type OauthServer, startOauthServer } from '../upstream/oauth-server.ts';
import {
  generateRecords,
  startUpstream,
  type Upstream,
  type UpstreamRequest,
  type UpstreamResponse,
} from '../upstream/upstream.ts';

/** Records of the API. */
export const recordCount = 200;

export interface OauthService extends AsyncDisposable {
  readonly oauth: OauthServer;
  readonly upstream: Upstream;
  readonly stack: Stack;
  /** What the API responds with instead, whoever asks. */
  reply: (request: UpstreamRequest) => UpstreamResponse | undefined;
  /** A pending connection of a spec of its own. */
  connect(auth: object, options?: ConnectOptions): Promise<OauthConnection>;
  /** A grant of the provider that the service knows nothing of. */
  grantElsewhere(clientSecret: string): Promise<{ readonly accessToken: string; readonly refreshToken: string }>;
  ask(method: string, path: string, body?: unknown, org?: TestOrg): Promise<Reply['body']>;
}

interface ConnectOptions {
  readonly org?: TestOrg;
  readonly workspaceId?: string;
  readonly secrets?: Readonly<Record<string, string>>;
}

export interface OauthConnection {
  readonly id: string;
  readonly specKey: string;
  authorize(): Promise<void>;
  /** Resolves with the final row of a new run. */
  sync(): Promise<RunRow>;
  read(): Promise<Reply['body']>;
}

/** The service beside an authorization server and an API that takes only its valid tokens. */
export async function startOauthService(options: Partial<StackOptions> = {}): Promise<OauthService> {
  await using started = new AsyncDisposableStack();
  const oauth = started.use(await startOauthServer());
  const upstream = started.use(
    await startUpstream({
      collections: { things: generateRecords(recordCount) },
      reply(request) {
        const own = service.reply(request);
        if (own) return own;
        const token = (request.headers['authorization'] ?? '').replace('Bearer ', '');
        return oauth.isValid(token) ? undefined : { status: 401, body: '{}' };
      },
    }),
  );
  const allow = [upstream.hostPort, oauth.hostPort];
  const stack = started.use(await startStack({ ...options, allow }));
  const kept = started.move();
  let connections = 0;

  const ask = async (
    method: string,
    path: string,
    body?: unknown,
    org: TestOrg = stack.org,
  ): Promise<Reply['body']> => {
    const reply = await org.call(method, path, { body });
    expect(reply.status, JSON.stringify(reply.body)).toBeLessThan(400);
    return reply.body;
  };

  const service: OauthService = {
    oauth,
    upstream,
    stack,
    ask,
    reply: () => undefined,
    async connect(auth, { org = stack.org, workspaceId = org.workspaceId, secrets = {} } = {}) {
      connections += 1;
      const specKey = `oauth-${connections}`;
      const destination = await openAuditedDestination();
      await ask('POST', '/specs', specOf({ specKey, auth, upstream, secrets: Object.keys(secrets) }), org);
      await ask('POST', `/specs/${specKey}/versions/1.0.0/publish`, undefined, org);
      const names = { workspaceId, specKey, specVersion: '1.0.0', displayName: specKey };
      const values = { params: {}, secrets: { ...secrets, databaseUrl: destination.url } };
      const { id } = await ask('POST', '/connections', { ...names, ...values }, org);
      return {
        id,
        specKey,
        async authorize() {
          const { authorizeUrl } = await ask('GET', `/oauth/${id}/authorize`, undefined, org);
          const back = (await oauth.agree(authorizeUrl)).replace('/api/v1', '');
          expect(await ask('GET', back, undefined, org)).toEqual({ connected: true, connectionId: id });
        },
        async sync() {
          const { id: runId } = await ask('POST', `/connections/${id}/sync`, { resource: 'things' }, org);
          return eventually('the run ends', async () => {
            const run = await ask('GET', `/runs/${runId}`, undefined, org);
            return run.finishedAt !== null && run;
          });
        },
        read: () => ask('GET', `/connections/${id}`, undefined, org),
      };
    },
    async grantElsewhere(clientSecret) {
      const redirect = 'https://elsewhere.example/callback';
      const query = new URLSearchParams({
        response_type: 'code',
        client_id: 'client',
        redirect_uri: redirect,
        state: 's',
      });
      const back = new URL(await oauth.agree(`${oauth.url}/authorize?${query.toString()}`), redirect);
      const response = await fetch(oauth.tokenUrl, {
        method: 'POST',
        headers: { authorization: `Basic ${Buffer.from(`client:${clientSecret}`).toString('base64')}` },
        body: new URLSearchParams({
          grant_type: 'authorization_code',
          code: back.searchParams.get('code') ?? '',
          redirect_uri: redirect,
        }),
      });
      const body = (await response.json()) as { access_token: string; refresh_token: string };
      return { accessToken: body.access_token, refreshToken: body.refresh_token };
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
  return service;
}

/** Auth by the authorization server. */
export const authorizationCode = (oauth: OauthServer, changes: object) => ({
  kind: 'oauth2_authorization_code',
  authorizeUrl: `${oauth.url}/authorize`,
  tokenUrl: oauth.tokenUrl,
  ...changes,
});

interface SpecParts {
  readonly specKey: string;
  readonly version?: string;
  readonly auth: object;
  readonly upstream: Upstream;
  readonly secrets?: readonly string[];
}

export const specOf = ({ specKey, version = '1.0.0', auth, upstream, secrets = [] }: SpecParts) => ({
  metadata: { key: specKey, name: specKey, version },
  connectionParams: [...secrets, 'databaseUrl'].map((key) => ({ key, type: 'string', secret: true })),
  auth,
  http: { baseUrl: upstream.url, rateLimit: { requests: 10_000 }, retry: { baseMs: 10 } },
  resources: [
    {
      key: 'things',
      primaryKey: 'id',
      request: { path: '/cursor/things', query: { per_page: '{{ page.size }}' } },
      response: { records: 'data' },
      pagination: { kind: 'cursor', next: 'body.next_cursor', size: 20, inject: { in: 'query', name: 'cursor' } },
      onInvalid: 'quarantine',
      target: { table: 'things' },
    },
  ],
  destination: { kind: 'postgres', url: '{{ secrets.databaseUrl }}', ssl: 'disable' },
});

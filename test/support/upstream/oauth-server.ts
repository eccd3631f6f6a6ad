import { OAuth2Server } from 'oauth2-mock-server';

/** One request for a token, as it came. */
export interface TokenRequest {
  readonly authorization: string | undefined;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** What the server says instead of a token. */
interface TokenRejection {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

interface TokenTerms {
  /** Seconds. */
  readonly expiresIn?: number;
  /** Further fields of the response. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

/** An authorization server on loopback. Its refresh tokens are good for one use; a second one ends every grant. */
export interface OauthServer extends AsyncDisposable {
  /** Without path. */
  readonly url: string;
  readonly tokenUrl: string;
  /** `host:port`, as `EGRESS_ALLOW` takes it. */
  readonly hostPort: string;
  readonly requests: readonly TokenRequest[];
  /** How often a refresh token came that had been used. */
  reuses(): number;
  /** How many requests to revoke a token came. */
  revocations(): number;
  /** Whether a token was issued here, is not over and was not revoked. */
  isValid(token: string): boolean;
  /** Every access token issued so far is refused from now on. */
  revokeAll(): void;
  /** Every grant is over: its refresh token is refused from now on. */
  endGrants(): void;
  /** Agrees, as the customer would; resolves with path and query of where they are sent back to. */
  agree(authorizeUrl: string): Promise<string>;
  /** What is sent back besides code and state. */
  sentBack: Readonly<Record<string, string>>;
  /** The outcome of the next requests, asked for each; undefined: a token. */
  reply: (request: TokenRequest) => TokenRejection | TokenTerms | undefined;
}

const invalidGrant: TokenRejection = { status: 400, body: { error: 'invalid_grant' } };

/** Starts one that gives every client a new token each time. */
export async function startOauthServer(): Promise<OauthServer> {
  const server = new OAuth2Server();
  await server.issuer.keys.generate('RS256');
  await server.start(0, '127.0.0.1');
  const requests: TokenRequest[] = [];
  /** When each token is over, ms. */
  const valid = new Map<string, number>();
  const refreshTokens = createRefreshTokens();
  let issued = 0;
  let revocations = 0;
  const { port } = server.address();
  const url = `http://127.0.0.1:${port}`;
  const oauth: OauthServer = {
    url,
    tokenUrl: `${url}/token`,
    hostPort: `127.0.0.1:${port}`,
    requests,
    reuses: () => refreshTokens.reuses(),
    revocations: () => revocations,
    isValid: (token) => (valid.get(token) ?? 0) > Date.now(),
    revokeAll: () => valid.clear(),
    endGrants: () => refreshTokens.end(),
    agree,
    sentBack: {},
    reply: () => undefined,
    [Symbol.asyncDispose]: () => server.stop(),
  };
  server.service.on('beforeTokenSigning', (token) => {
    issued += 1;
    token.payload['jti'] = String(issued);
  });
  server.service.on('beforeAuthorizeRedirect', (redirect) => {
    for (const [name, value] of Object.entries(oauth.sentBack)) redirect.url.searchParams.set(name, value);
  });
  server.service.on('beforeRevoke', () => {
    revocations += 1;
  });
  server.service.on('beforeResponse', (response, incoming) => {
    const request = { authorization: incoming.headers.authorization, fields: { ...incoming.body } };
    requests.push(request);
    const told = oauth.reply(request);
    const reply = told && 'status' in told ? told : (refreshTokens.classify(request) ?? told);
    if (reply && 'status' in reply) {
      response.statusCode = reply.status;
      response.body = { ...reply.body };
    } else if (response.body !== '') {
      if (reply?.expiresIn !== undefined) response.body['expires_in'] = reply.expiresIn;
      Object.assign(response.body, reply?.fields);
      valid.set(String(response.body['access_token']), Date.now() + Number(response.body['expires_in']) * 1000);
      refreshTokens.issue(response.body['refresh_token']);
    }
  });
  return oauth;
}

function createRefreshTokens() {
  const unused = new Set<unknown>();
  const used = new Set<unknown>();
  let reuses = 0;
  return {
    reuses: () => reuses,
    issue: (token: unknown) => void unused.add(token),
    end: () => unused.clear(),
    classify({ fields }: TokenRequest): TokenRejection | undefined {
      if (fields['grant_type'] !== 'refresh_token') return undefined;
      const token = fields['refresh_token'];
      if (unused.delete(token)) {
        used.add(token);
        return undefined;
      }
      if (used.has(token)) {
        reuses += 1;
        unused.clear();
      }
      return invalidGrant;
    },
  };
}

async function agree(authorizeUrl: string): Promise<string> {
  const response = await fetch(authorizeUrl, { redirect: 'manual' });
  const location = response.headers.get('location');
  if (location === null) throw new Error(`The provider responded with ${response.status} and sends nobody back.`);
  const { pathname, search } = new URL(location);
  return pathname + search;
}

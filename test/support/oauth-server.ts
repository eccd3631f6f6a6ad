import { OAuth2Server } from 'oauth2-mock-server';

/** One request for a token, as it came. */
export interface TokenRequest {
  readonly authorization: string | undefined;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** What the server says instead of a token. */
export interface TokenRefusal {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** An authorization server on loopback. */
export interface OauthServer extends AsyncDisposable {
  readonly tokenUrl: string;
  /** `host:port`, as `EGRESS_ALLOW` takes it. */
  readonly hostPort: string;
  readonly requests: readonly TokenRequest[];
  /** Whether a token was issued here and not revoked. */
  isValid(token: string): boolean;
  /** Every token issued so far is refused from now on. */
  revokeAll(): void;
  /** What becomes of the next requests, asked for each; undefined: a token, which lives `expiresIn` seconds. */
  answer: (request: TokenRequest) => TokenRefusal | { readonly expiresIn: number } | undefined;
}

/** Starts one that gives every client a new token each time. */
export async function startOauthServer(): Promise<OauthServer> {
  const server = new OAuth2Server();
  await server.issuer.keys.generate('RS256');
  await server.start(0, '127.0.0.1');
  const requests: TokenRequest[] = [];
  const valid = new Set<string>();
  let issued = 0;
  const { port } = server.address();
  const oauth: OauthServer = {
    tokenUrl: `http://127.0.0.1:${port}/token`,
    hostPort: `127.0.0.1:${port}`,
    requests,
    isValid: (token) => valid.has(token),
    revokeAll: () => valid.clear(),
    answer: () => undefined,
    [Symbol.asyncDispose]: () => server.stop(),
  };
  server.service.on('beforeTokenSigning', (token) => {
    issued += 1;
    token.payload['jti'] = String(issued);
  });
  server.service.on('beforeResponse', (response, incoming) => {
    const request = { authorization: incoming.headers.authorization, fields: { ...incoming.body } };
    requests.push(request);
    const answer = oauth.answer(request);
    if (answer && 'status' in answer) {
      response.statusCode = answer.status;
      response.body = { ...answer.body };
    } else if (response.body !== '') {
      if (answer) response.body['expires_in'] = answer.expiresIn;
      valid.add(String(response.body['access_token']));
    }
  });
  return oauth;
}

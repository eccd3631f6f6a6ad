import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { orgScope } from '../../db/scope.ts';
import { type ApiServer, listen } from '../../src/api/server.ts';
import { createApiKey } from '../../src/control/orgs/api-keys.ts';
import { operatorGrant } from '../../src/control/orgs/orgs.ts';
import { type EmbedSubject, signEmbedToken } from '../../src/core/crypto/embed-token.ts';
import { signToken } from '../../src/core/crypto/signed-token.ts';
import {
  type BadInput,
  type Placeholders,
  readBadInput,
  send,
  type WireResponse,
} from '../support/security/bad-input.ts';
import { caseFigure } from '../support/security/figure.ts';
import { startApi, type TestApi, type TestOrg } from '../support/service/api.ts';
import { fillOrg } from '../support/upstream/api-fixtures.ts';

/** Where the corpus is read differently; the data stays as it is. */
const overrides: Readonly<Record<string, Partial<BadInput>>> = {
  // Paths are relative to /api/v1 unless stated; the corpus left the prefix out.
  B182: { path: '/api/v1/api-keys' },
  // A body over 1 MiB is 413 with the code `validation`; the corpus names none.
  B023: { expectStatus: 413, expectCode: 'validation' },
  // Names of the prototype chain are refused by the gate over every body, and a refusal there has a code.
  B076: { expectStatus: 400, expectCode: 'validation' },
  B078: { expectStatus: 400, expectCode: 'validation' },
  // The corpus leaves the choice for limits.
  B375: { expectStatus: 400, expectCode: 'validation' },
  B377: { expectStatus: 200, expectCode: null },
  B379: { expectStatus: 400, expectCode: 'validation' },
  B381: { expectStatus: 400, expectCode: 'validation' },
  B383: { expectStatus: 400, expectCode: 'validation' },
};

/** Second checks, by the words of `then` in the corpus. */
const thens: Readonly<Record<string, (reply: WireResponse) => Promise<void> | void>> = {
  B027: ({ text }) => expect(JSON.parse(text).displayName).toBe('second'),
  B044: ({ text }) => expect(JSON.parse(text).displayName).toBe("'; drop table connections; --"),
  B079: ({ text }) => expect(JSON.parse(text).orgId).toBe(ours.orgId),
  B180: ({ headers }) => expect(headers).not.toHaveProperty('access-control-allow-origin'),
  B182: async ({ text }) => {
    const { key } = JSON.parse(text);
    const { body } = await ours.call('GET', '/workspaces', { apiKey: key });
    expect(body.map(({ id }: { id: string }) => id)).toContain(ours.workspaceId);
  },
  B198: ({ text }) => expect(JSON.parse(text).connection.id).toBe(values['connectionId']),
  B221: ({ headers, text }) => {
    expect(headers['content-type']).toContain('application/json');
    expect(text).not.toContain('script');
  },
  B257: ({ text }) =>
    expect(JSON.parse(text).error.issues).toContainEqual(
      expect.objectContaining({ code: 'duplicate_key', path: 'resources.1.key' }),
    ),
  B277: ({ text }) => expect(JSON.parse(text)).toMatchObject({ valid: false, issues: expect.any(Array) }),
  B310: ({ text }) => expect(JSON.parse(text).trigger).toBe('manual'),
  B363: ({ text }) => expect(JSON.parse(text)).toMatchObject({ enabled: false, cron: '0 3 * * *' }),
};

const all = await readBadInput();
const entries = all.map((entry) => ({ ...entry, ...overrides[entry.id] }));

let api: TestApi;
let server: ApiServer;
let ours: TestOrg;
let values: Placeholders;

beforeAll(async () => {
  api = await startApi();
  server = await listen(api.app, { host: '127.0.0.1', port: 0, headersTimeoutMs: 300 });
  ours = await api.newOrg();
  values = await placeholders(api, ours);
});
afterAll(async () => {
  await server.stop();
  await api[Symbol.asyncDispose]();
});

async function placeholders(own: TestApi, org: TestOrg): Promise<Placeholders> {
  const other = await own.newOrg();
  const [mine, foreign] = [await fillOrg(own, org, 'mine'), await fillOrg(own, other, 'foreign')];
  const capitalized = Object.entries({ ...foreign, orgId: other.orgId, workspaceId: other.workspaceId });
  const last = org.apiKey.at(-1) === 'a' ? 'b' : 'a';
  const expired = await createApiKey(own.deps, orgScope(org.orgId), {
    ...operatorGrant,
    expiresAt: '2020-01-01T00:00:00Z',
  });
  return {
    ...mine,
    workspaceId: org.workspaceId,
    ...Object.fromEntries(
      capitalized.map(([name, value]) => [`other${name.charAt(0).toUpperCase()}${name.slice(1)}`, value]),
    ),
    apiKey: org.apiKey,
    otherApiKey: other.apiKey,
    apiKeyFlipped: org.apiKey.slice(0, -1) + last,
    expiredKey: expired.key,
    connectionIdUpper: mine.connectionId.toUpperCase(),
    connectionIdNoDashes: mine.connectionId.replace('_', ''),
    longId: 'con_'.padEnd(3000, 'x'),
    n: '1',
    ...(await oauthStates(own)),
    ...(await embedTokens(own, { orgId: org.orgId, connectionId: mine.connectionId, scopes: [] })),
  };
}

/** States of this deployment that were never issued. */
async function oauthStates({ deps: { oauth } }: TestApi): Promise<Placeholders> {
  const ring = oauth?.stateKeys ?? [];
  const state = { type: 'oauth-state+jwt', audience: 'oauth-state' };
  const claims = { jti: 'a state that was never issued', org: 'org_of_nobody' };
  return {
    oauthState: await signToken(ring, state, { claims, ttlSeconds: 600 }),
    oauthStateExpired: await signToken(ring, state, { claims, ttlSeconds: -1 }),
  };
}

/** One that is good, and what is made of it. */
async function embedTokens({ deps: { embed } }: TestApi, subject: EmbedSubject): Promise<Placeholders> {
  const signer = { keys: embed.keys ?? [], issuer: embed.issuer };
  const unknown = { ...signer, keys: signer.keys.map(({ key }) => ({ id: 'unknown', key })) };
  const { token } = await signEmbedToken(signer, { ...subject, ttlSeconds: 600 });
  const unsigned = Buffer.from('{"alg":"none","typ":"embed+jwt"}').toString('base64url');
  return {
    embedToken: token,
    embedTokenTruncated: token.slice(0, -1),
    embedTokenExpired: (await signEmbedToken(signer, { ...subject, ttlSeconds: -60 })).token,
    'jwt:none:connection': `${unsigned}.${token.split('.')[1]}.`,
    'jwt:kid-unknown': (await signEmbedToken(unknown, { ...subject, ttlSeconds: 600 })).token,
  };
}

/** How many rows there are of everything that a request can make. */
async function rowCounts(): Promise<unknown> {
  const { rows } = await sql`
    select (select count(*) from specs) specs, (select count(*) from spec_versions) versions,
      (select count(*) from connections) connections, (select count(*) from connection_secrets) secrets,
      (select count(*) from runs) runs, (select count(*) from api_keys) keys,
      (select count(*) from workspaces) workspaces, (select count(*) from schedules) schedules,
      (select count(*) from webhook_endpoints) endpoints, (select count(*) from webhook_deliveries) deliveries`.execute(
    api.deps.db,
  );
  return rows[0];
}

const oneOf = <T>(expected: T | readonly T[]): readonly T[] => (Array.isArray(expected) ? expected : [expected]) as T[];

const isError = ({ status, text }: WireResponse) => status >= 400 && text !== '';

/** Null: no error, one without a code, or one of Node's own parser, which never reaches the app and has no body. */
const codeOf = (reply: WireResponse): string | null =>
  isError(reply) ? (JSON.parse(reply.text).error.code ?? null) : null;

const expectedCodes = ({ expectCode }: BadInput, reply: WireResponse) =>
  isError(reply) ? oneOf(expectCode) : [...oneOf(expectCode), null];

describe('the corpus of bad input', () => {
  it.each(entries)('$id $method $path: $why', async (entry) => {
    const repeated = entry.id === 'B275' ? await send(entry, server.port, values) : null;
    if (repeated) expect(repeated.status).toBe(201);
    const before = await rowCounts();
    const startedMs = performance.now();

    const reply = await send(entry, server.port, values);
    caseFigure('badInput5xx', reply.status >= 500);

    expect(oneOf(entry.expectStatus)).toContain(reply.status);
    expect(performance.now() - startedMs).toBeLessThan(5000);
    expect(reply.text).not.toMatch(/\bat \S+ \(|node_modules|\.ts:\d|select .* from|insert into/i);
    expect(expectedCodes(entry, reply)).toContain(codeOf(reply));
    // What is refused leaves nothing behind.
    expect(reply.status >= 400 ? await rowCounts() : before).toEqual(before);
    await thens[entry.id]?.(reply);
    const health = performance.now();
    expect((await api.app.request('/api/health')).status).toBe(200);
    expect(performance.now() - health).toBeLessThan(200);
  });
});

import type { Token, TokenSource } from '../source/auth/token.ts';
import { decodeAtOnce } from '../source/decode/decode-turns.ts';
import { rendererFor } from '../source/request/render-request.ts';
import { renderUrl } from '../source/request/url-template.ts';
import type { Source } from '../source/source.ts';
import type { Auth } from '../spec/schema/auth-schema.ts';
import type { ConnectorSpec, Resource } from '../spec/schema/spec-schema.ts';
import { createMockClient } from './mock-client.ts';
import type { TestContext } from './test-context.ts';

/** The value of `run.id` in expressions. */
export const testRunId = 'run_test';

/** Throws `spec_invalid`. */
export async function openTestSource(context: TestContext, resource: Resource): Promise<Omit<Source, 'watermark'>> {
  const { spec, params, secrets, now, evaluator, api, signal } = context;
  const auth = resource.auth ?? spec.auth;
  const tokens = tokensOf(auth, spec, now);
  const described = {
    resource,
    http: oneByOne(spec.http),
    auth,
    specChecksum: 'sha256:test',
    params,
    secrets,
    lookups: {},
    each: {},
    run: { id: testRunId, startedAt: now.toISOString(), mode: 'incremental' },
    backfill: null,
    validators: null,
    responses: null,
    decodeTurns: decodeAtOnce,
    evaluator,
    mask: () => undefined,
    now: () => now,
    tokens,
  };
  const basePath = await basePathOf(described, (await tokens?.current(signal))?.metadata ?? {});
  const client = createMockClient({ api, basePath, retry: spec.http.retry, now });
  return { ...described, client };
}

/** Makes the order of requests deterministic. */
const oneByOne = (http: ConnectorSpec['http']): ConnectorSpec['http'] => ({
  ...http,
  rateLimit: { ...http.rateLimit, maxConcurrent: 1 },
});

/** Empty if the address depends on a partition: mocks then name the whole path. */
async function basePathOf(
  source: Omit<Source, 'watermark' | 'client'>,
  auth: Readonly<Record<string, unknown>>,
): Promise<string> {
  const { params, each, lookups, run, http } = source;
  if (http.baseUrl === undefined || /\beach\b/.test(http.baseUrl)) return '';
  const { hole } = rendererFor(source, { params, auth, each, lookups, run });
  return (await renderUrl(http.baseUrl, hole)).pathname.replace(/\/$/, '');
}

/** One token that never changes; `null` for an auth kind without tokens. */
function tokensOf(auth: Auth, spec: ConnectorSpec, now: Date): TokenSource | null {
  if (!('put' in auth)) return null;
  const names = [
    ...('tokenResponse' in auth ? Object.keys(auth.tokenResponse.metadata) : []),
    ...('callback' in auth ? Object.keys(auth.callback.metadata) : []),
  ];
  const token: Token = {
    accessToken: 'test-token',
    expiresAtMs: null,
    obtainedAtMs: now.getTime(),
    refreshToken: null,
    metadata: Object.fromEntries(names.map((name) => [name, metadataValue(name, spec)])),
  };
  return { current: async () => token, refresh: async () => token };
}

/** An address if the API's own address begins with it, such as an account's instance; otherwise its name. */
const metadataValue = (name: string, { http, resources }: ConnectorSpec): string => {
  const addresses = [http.baseUrl, ...resources.map(({ request }) => request.url)];
  const isAddress = addresses.some((address) => address?.replaceAll(' ', '').startsWith(`{{auth.${name}}}`));
  return isAddress ? `https://${name.toLowerCase().replaceAll('_', '-')}.test` : name;
};

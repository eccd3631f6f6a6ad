import { describe, expect, it } from 'vitest';
import { recordConnects } from '../../../test/support/security/connect-recorder.ts';
import { caseFigure } from '../../../test/support/security/figure.ts';
import { type SsrfVector, ssrfVectors } from '../../../test/support/security/ssrf-corpus.ts';
import { openClient, serveHttp } from '../../../test/support/upstream/guarded-client.ts';
import { parseAllowList } from './addresses.ts';
import { createEgressGuard } from './egress.ts';
import type { Lookup } from './fair-lookup.ts';
import { checkHostSuffix, hostLabel, pathSegment, resolveLink } from './origin.ts';

/** The only addresses that a vector may lead to; literals of "allow" vectors come on top. */
const publicAddresses = ['93.184.215.14', '1.1.1.1'];

const vectorsOf = (...kinds: readonly SsrfVector['kind'][]) =>
  ssrfVectors.filter((vector) => kinds.includes(vector.kind)).map((vector) => [vector.id, vector.why, vector] as const);

const resolverOf = (vector: SsrfVector): Lookup => {
  const used = new Map<string, number>();
  return async (host) => {
    const turn = used.get(host) ?? 0;
    used.set(host, turn + 1);
    const addresses = vector.dnsSequence?.[host]?.[turn] ?? vector.dns?.[host];
    if (addresses === undefined) throw Object.assign(new Error('not found'), { code: 'ENOTFOUND' });
    return addresses;
  };
};

/** Plain http is allowed except where the allow list itself is tried: the address has to be what blocks. */
const guardFor = (vector: SsrfVector) =>
  createEgressGuard({
    allow: parseAllowList(vector.allowlist?.join(',') ?? ''),
    deny: [],
    allowHttp: vector.allowlist === undefined,
    lookup: resolverOf(vector),
  });

/** Sends what the vector says on one client, and reports how it ended and where sockets went. */
async function attack(vector: SsrfVector) {
  const seen: { url: string | undefined; headers: NodeJS.Dict<string | string[]> }[] = [];
  await using server = await serveHttp((request, response) => {
    seen.push({ url: request.url, headers: request.headers });
    const redirects = vector.redirectTo !== undefined && request.url === '/start';
    response.writeHead(redirects ? 302 : 200, {
      connection: 'close',
      ...(redirects && { location: vector.redirectTo }),
    });
    response.end();
  });
  await using client = openClient({
    egress: guardFor(vector),
    retry: { maxAttempts: 2, baseMs: 1, maxMs: 1, maxWaitSeconds: 1 },
  });
  using recorder = recordConnects(server);
  const headers = { authorization: 'Bearer abc', cookie: 'a=b', 'x-api-key': 'abc' };
  const endings: string[] = [];
  for (let sent = 0; sent < (vector.requests ?? 1); sent += 1) {
    const sending = async () => client.send({ url: vector.url, headers, allowedHosts: ['cdn.example.test'] });
    endings.push(await endingOf(sending()));
  }
  return { endings, calls: client.calls, dials: recorder.dials.map((dial) => dial.address), seen };
}

/** How a promise ended: `ok`, or the code of its error. */
const endingOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'ok',
    (error: unknown) => String(error instanceof Error && 'code' in error ? error.code : error),
  );

const expectedEnding = ({ expect: expected }: SsrfVector): string => (expected === 'allow' ? 'ok' : 'egress_blocked');

/** For the figures: what was let through although it must not be, and the other way round. */
const noteVerdict = (vector: SsrfVector, ending: string): void =>
  caseFigure(
    vector.expect === 'block' ? 'ssrfReached' : 'ssrfFalseBlocks',
    (ending === 'ok') !== (vector.expect === 'allow'),
  );

describe('the guarded client against URLs', () => {
  const vectors = vectorsOf(undefined);
  const blocked = vectors.filter(
    ([, , { expect: expected, expectConnectTo }]) => expected === 'block' && !expectConnectTo,
  );
  const allowed = vectors.filter(([, , vector]) => vector.expect === 'allow');

  it.each(blocked)('%s ends as an egress block without a forbidden socket: %s', async (_id, _why, vector) => {
    const { endings, calls, dials } = await attack(vector);

    const forbidden = dials.filter((address) => !publicAddresses.includes(address));
    caseFigure('ssrfReached', forbidden.length > 0);
    expect(forbidden).toEqual([]);
    expect(endings.at(-1)).toBe(URL.canParse(vector.url) ? 'egress_blocked' : 'ERR_INVALID_URL');
    expect(calls.filter((call) => call.attempt !== 1)).toEqual([]);
    expect(calls.filter((call) => call.statusCode === null)).toHaveLength(URL.canParse(vector.url) ? 1 : 0);
  });

  it.each(vectors.filter(([, , vector]) => vector.expectConnectTo))(
    '%s reaches the vetted address only: %s',
    async (_id, _why, vector) => {
      const { dials } = await attack(vector);
      caseFigure(
        'ssrfReached',
        dials.some((address) => !vector.expectConnectTo?.includes(address)),
      );
      expect(dials).toEqual(vector.expectConnectTo);
    },
  );

  it.each(allowed)('%s is let through to its address: %s', async (_id, _why, vector) => {
    const { endings, dials } = await attack(vector);

    caseFigure('ssrfFalseBlocks', endings.includes('egress_blocked'));
    const literal = new URL(vector.url).hostname.replace(/^\[|\]$/g, '');
    const named = Object.values(vector.dns ?? {}).flat();
    expect(new Set(dials)).toEqual(new Set(named.length > 0 ? named : [literal]));
    // The fake server has no certificate: behind the guard, https ends as a failure of the source.
    expect(endings).toEqual([vector.url.startsWith('https:') ? 'source_unavailable' : 'ok']);
  });

  it.each(allowed.filter(([, , vector]) => vector.expectHeadersAbsentAfterRedirect))(
    '%s leaves credentials behind: %s',
    async (_id, _why, vector) => {
      const { seen } = await attack(vector);

      expect(seen.map((request) => request.url)).toEqual(['/start', '/data']);
      const names = Object.keys(seen[1]?.headers ?? {});
      expect(names.filter((name) => vector.expectHeadersAbsentAfterRedirect?.includes(name))).toEqual([]);
    },
  );

  it.each(vectors.filter(([, , { dns, dnsSequence }]) => !dns && !dnsSequence))(
    '%s is allowed or blocked without DNS: %s',
    (_id, _why, vector) => {
      const checked = guardFor(vector).urlIssue(vector.url);
      expect(checked === null ? 'allow' : 'block').toBe(vector.expect);
    },
  );
});

describe('the guard against database hosts', () => {
  it.each(vectorsOf('host', 'dsn'))('%s is allowed or blocked by its DNS records: %s', async (_id, _why, vector) => {
    const ending = await endingOf(guardFor(vector).vetHost(vector.url, vector.port ?? 5432));
    noteVerdict(vector, ending);
    expect(ending).toBe(expectedEnding(vector));
  });

  it.each(vectorsOf('tds-routing'))('%s vets the routed server like the first: %s', async (_id, _why, vector) => {
    const [host = '', port] = vector.url.split(':');
    const ending = await endingOf(guardFor(vector).vetHost(host, Number(port)));
    noteVerdict(vector, ending);
    expect(ending).toBe(expectedEnding(vector));
  });
});

describe('URLs built from values and responses', () => {
  it.each(vectorsOf('template'))('%s keeps host and path of the template: %s', async (_id, _why, vector) => {
    const [value = ''] = Object.values(vector.params ?? {});
    const inHost = vector.url.indexOf('{{') < vector.url.indexOf('/', 'https://'.length);
    const expand = async () => {
      const url = new URL(vector.url.replace(/\{\{.*?\}\}/, () => (inHost ? hostLabel(value) : pathSegment(value))));
      checkHostSuffix(url, inHost ? '.vendor.example' : 'api.vendor.example');
      expect(url.pathname.split('/')).toHaveLength(inHost ? 3 : 4);
    };
    const ending = await endingOf(expand());
    noteVerdict(vector, ending);
    expect(ending).toBe(vector.expect === 'allow' ? 'ok' : 'spec_invalid');
  });

  it.each(vectorsOf('next-link'))('%s stays on the base: %s', async (_id, _why, vector) => {
    const base = new URL(vector.base ?? '');
    const resolve = async () => resolveLink(vector.url, base, { base, allowedHosts: [] });
    const ending = await endingOf(resolve());
    noteVerdict(vector, ending);
    expect(ending).toBe(expectedEnding(vector));
  });
});

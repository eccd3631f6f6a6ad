import { describe, expect, it } from 'vitest';
import { openClient, serveHttp } from '../../../test/support/upstream/guarded-client.ts';
import { AppError } from '../errors.ts';
import type { Classify, RequestSigner } from '../model/http.ts';

/** Responds with the statuses in turn, the last one for ever, and notes the credentials that came. */
const serveStatuses = (statuses: readonly number[], seen: (string | undefined)[]) => {
  let turn = 0;
  return serveHttp((request, response) => {
    seen.push(request.headers.authorization);
    response.writeHead(statuses[Math.min(turn, statuses.length - 1)] ?? 200).end();
    turn += 1;
  });
};

describe('a signer', () => {
  const counting = () => {
    let signed = 0;
    let refreshed = 0;
    const signer: RequestSigner = {
      sign: async (request) => {
        signed += 1;
        return { ...request, headers: { ...request.headers, authorization: `${signed}/${refreshed}` } };
      },
      refresh: async () => {
        refreshed += 1;
      },
    };
    return signer;
  };
  const error = new AppError('auth_failed', 'refused');
  const classify: Classify = async ({ status }) =>
    status === 401 ? { action: 'refresh', error } : { action: status === 200 ? 'accept' : 'retry' };

  it('signs each attempt anew, also the one after a refresh', async () => {
    const seen: (string | undefined)[] = [];
    await using server = await serveStatuses([503, 401, 503, 200], seen);
    const retry = { maxAttempts: 9, baseMs: 1, maxMs: 1, maxWaitSeconds: 1 };
    await using client = openClient({ allow: `127.0.0.1:${server.port}`, classify, retry });
    const { status } = await client.send({ url: server.origin }, undefined, { signer: counting() });
    expect(status).toBe(200);
    expect(seen).toEqual(['1/0', '2/0', '3/1', '4/1']);
  });

  it('is asked to refresh once: refused again, the request fails', async () => {
    await using server = await serveStatuses([401], []);
    await using client = openClient({ allow: `127.0.0.1:${server.port}`, classify });
    await expect(client.send({ url: server.origin }, undefined, { signer: counting() })).rejects.toBe(error);
    expect(client.calls.map(({ statusCode }) => statusCode)).toEqual([401, 401]);
  });

  it('that is missing leaves nothing to refresh', async () => {
    await using server = await serveStatuses([401], []);
    await using client = openClient({ allow: `127.0.0.1:${server.port}`, classify });
    await expect(client.send({ url: server.origin })).rejects.toBe(error);
    expect(client.calls).toHaveLength(1);
  });
});

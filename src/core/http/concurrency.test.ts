import { expect, it } from 'vitest';
import type { HttpClient, HttpRequest, HttpResponse } from '../model/http.ts';
import { withConcurrencyMax } from './concurrency.ts';

const signal = new AbortController().signal;

/** A client that responds to a request when the test says so; `/bad` fails. */
function heldClient() {
  const sent: string[] = [];
  const gates = new Map<string, PromiseWithResolvers<void>>();
  const gateOf = (path: string) => {
    const gate = gates.get(path) ?? Promise.withResolvers<void>();
    gates.set(path, gate);
    return gate;
  };
  const client: HttpClient = {
    async send({ url }): Promise<HttpResponse> {
      sent.push(url.pathname);
      await gateOf(url.pathname).promise;
      if (url.pathname === '/bad') throw new Error('refused');
      return { status: 200, headers: {}, body: new Uint8Array(), url };
    },
    logSaved: async () => {},
    logBlocked: async () => {},
    [Symbol.asyncDispose]: async () => {},
  };
  return { client, sent, response: (path: string) => gateOf(path).resolve() };
}

const request = (path: string): HttpRequest => ({
  method: 'GET',
  url: new URL(path, 'http://a.test'),
  headers: {},
  timeoutMs: 1000,
  responseBytesMax: 1,
  allowedHosts: [],
});

it('sends no more than it may at once, in the order asked; a failure gives its place free', async () => {
  const { client, sent, response } = heldClient();
  const limited = withConcurrencyMax(client, 2);
  const all = ['/bad', '/1', '/2', '/3'].map((path) => limited.send(request(path), { signal }));
  await expect.poll(() => sent).toEqual(['/bad', '/1']);
  response('/bad');
  await expect(all[0]).rejects.toThrow('refused');
  expect(sent).toEqual(['/bad', '/1', '/2']);
  for (const path of ['/1', '/2', '/3']) response(path);
  expect((await Promise.all(all.slice(1))).map(({ status }) => status)).toEqual([200, 200, 200]);
});

/** For tests: a client whose requests stay open until the test lets them be answered, in whatever order it likes. */
import type { HttpAnswer, HttpClient } from '../http/client.ts';

/** The open requests of a client and all that it was asked. */
export interface HeldClient {
  readonly client: HttpClient;
  /** Query values of the open requests by the name given, in the order they came. */
  open(): readonly string[];
  /** The same of all requests so far. */
  asked(): readonly string[];
  /** The same of those that were ended before their answer. */
  aborted(): readonly string[];
  /** Answers an open request: with what the API gives now, or with a failure of the client. */
  release(value: string, failure?: Error): void;
  /** The most requests that were open at once. */
  readonly openMax: number;
}

/** `answer` gives the body of a request when it is released; requests are told apart by the query value `name`. */
export function createHeldClient(name: string, answer: (url: URL) => unknown): HeldClient {
  const open = new Map<string, PromiseWithResolvers<HttpAnswer>>();
  const asked: string[] = [];
  const aborted: string[] = [];
  let openMax = 0;
  const client: HttpClient = {
    async send({ url }, { signal }) {
      const value = url.searchParams.get(name) ?? '';
      if (open.has(value)) throw new Error(`${value} is asked for twice at once`);
      signal.throwIfAborted();
      const answered = Promise.withResolvers<HttpAnswer>();
      const abort = () => {
        aborted.push(value);
        answered.reject(signal.reason);
      };
      signal.addEventListener('abort', abort, { once: true });
      open.set(value, answered);
      asked.push(value);
      openMax = Math.max(openMax, open.size);
      try {
        return await answered.promise;
      } finally {
        open.delete(value);
        signal.removeEventListener('abort', abort);
      }
    },
    logSaved: async () => {},
    [Symbol.asyncDispose]: async () => {},
  };
  const requestOf = new Map<string, URL>();
  const send: HttpClient['send'] = (request, options) => {
    requestOf.set(request.url.searchParams.get(name) ?? '', request.url);
    return client.send(request, options);
  };
  return {
    client: { ...client, send },
    open: () => [...open.keys()],
    asked: () => asked,
    aborted: () => aborted,
    release(value, failure) {
      const request = open.get(value);
      const url = requestOf.get(value);
      if (!request || !url) throw new Error(`${value} is not open; open: ${[...open.keys()].join(', ')}`);
      if (failure) return request.reject(failure);
      const body = new TextEncoder().encode(JSON.stringify(answer(url)));
      request.resolve({ status: 200, headers: { 'content-type': 'application/json' }, body, url });
    },
    get openMax() {
      return openMax;
    },
  };
}

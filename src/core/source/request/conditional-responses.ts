import type { HttpAnswer } from '../../model/http.ts';
import { type KeptAnswers, type KeptShelf, type Sent, unkept } from './response-cache.ts';
import { type AnswerAtRest, fromRest, toRest } from './stored-response.ts';

/** How long an answer is kept, s; then it is asked for in full once. */
const keptSeconds = 30 * 86_400;

/** Asks with the validators of the kept answer (RFC 9110 13.1); it counts where the API answers 304. */
export function createConditionalAnswers({ client, store, keyOf }: KeptShelf): KeptAnswers {
  const find = async (key: string): Promise<AnswerAtRest | null> => {
    const text = (await store.read('connection', [key])).get(key) ?? null;
    return text === null ? null : JSON.parse(text);
  };
  const sent = (key: string, answer: HttpAnswer): Sent => ({
    answer,
    async keep() {
      const kept = Object.keys(conditionsOf(answer)).length === 0 ? null : toRest(answer);
      if (kept === null) return;
      await store.write('connection', [{ key, text: JSON.stringify(kept), ttlSeconds: keptSeconds }]);
    },
  });
  return {
    async send(request, options, page) {
      const key = keyOf(request);
      const kept = page?.isRestarted ? null : await find(key);
      if (kept === null) return sent(key, await client.send(request, options));
      const headers = { ...request.headers, ...conditionsOf(kept) };
      const answer = await client.send({ ...request, headers }, options);
      return answer.status === 304 ? unkept(fromRest(kept, request)) : sent(key, answer);
    },
  };
}

/** Headers by which the API can answer that nothing has changed. */
export function conditionsOf({ headers }: Pick<HttpAnswer, 'headers'>): Record<string, string> {
  const { etag, 'last-modified': lastModified } = headers;
  return {
    ...(etag === undefined ? {} : { 'if-none-match': etag }),
    ...(lastModified === undefined ? {} : { 'if-modified-since': lastModified }),
  };
}

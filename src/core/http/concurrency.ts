import type { HttpClient } from '../model/http.ts';

/** The same client, with at most `max` concurrent requests; others wait in order of arrival. */
export function withConcurrencyMax(client: HttpClient, max: number): HttpClient {
  const waiting: (() => void)[] = [];
  let underWay = 0;
  const enter = (): Promise<void> | void => {
    if (underWay >= max) return new Promise((resolve) => waiting.push(resolve));
    underWay += 1;
  };
  // A finished request passes its place on to the next in line, so that no later one takes it.
  const leave = (): void => {
    const next = waiting.shift();
    if (next) next();
    else underWay -= 1;
  };
  return {
    ...client,
    async send(request, options) {
      await enter();
      try {
        return await client.send(request, options);
      } finally {
        leave();
      }
    },
  };
}

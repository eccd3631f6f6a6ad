import type { HttpClient } from '../model/http.ts';

/** The same client, through which at most `max` requests are under way at once; others wait in the order they came. */
export function withConcurrencyMax(client: HttpClient, max: number): HttpClient {
  const waiting: (() => void)[] = [];
  let underWay = 0;
  const enter = (): Promise<void> | void => {
    if (underWay >= max) return new Promise((resolve) => waiting.push(resolve));
    underWay += 1;
  };
  // Who leaves hands its place on, so that nobody who came later takes it.
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

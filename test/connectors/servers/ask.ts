import { eventually } from '../../support/service/eventually.ts';

/** Sends JSON to a server and returns the JSON of its response. Throws for any status but 2xx. */
export async function ask(
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  url: string,
  { headers = {}, body }: { readonly headers?: Readonly<Record<string, string>>; readonly body?: unknown } = {},
): Promise<Readonly<Record<string, unknown>>> {
  const response = await fetch(url, {
    method,
    headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${url} responded with ${response.status}: ${text.slice(0, 300)}`);
  return text === '' ? {} : JSON.parse(text);
}

/** Waits until a server responds at an address, with whatever status. */
export const listening = (url: string): Promise<true> =>
  eventually(`${url} responds`, async () => fetch(url).then(() => true as const), { timeoutMs: 60_000 });

/** The header of HTTP Basic. */
export const basic = (user: string, password: string): { readonly authorization: string } => ({
  authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
});

/** One after the other: `work(0)` to `work(count - 1)`. */
export async function times<Result>(count: number, work: (n: number) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = [];
  for (let n = 0; n < count; n += 1) results.push(await work(n));
  return results;
}

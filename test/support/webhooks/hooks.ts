import type { TestApi, TestOrg } from '../service/api.ts';

/** Sends a request to the address of a hook. */
type Send = (url: string, init: RequestInit) => Promise<Response>;

/** Requests without a socket. */
export const sendTo =
  ({ app }: Pick<TestApi, 'app'>): Send =>
  async (url, init) =>
    app.request(new URL(url).pathname, init);

/** A hook as its maker sees it, and a way to post to it. */
export interface TestHook {
  readonly id: string;
  readonly url: string;
  readonly secret: string;
  post(body: string, headers?: Readonly<Record<string, string>>): Promise<Response>;
  /** Newest first. */
  requests(): Promise<readonly HookRequest[]>;
}

interface HookRequest {
  readonly id: string;
  readonly status: string;
  readonly reason: string | null;
  readonly receivedAt: string;
  readonly runs: readonly { readonly resourceKey: string; readonly runId: string | null }[];
}

/** Makes a hook of a connection. */
export async function createHook(
  send: Send,
  { call }: Pick<TestOrg, 'call'>,
  connectionId: string,
  body: Readonly<Record<string, unknown>> = {},
): Promise<TestHook> {
  const wanted = { resourceKeys: ['items'], verification: { kind: 'none' }, ...body };
  const { status, body: hook } = await call('POST', `/connections/${connectionId}/hooks`, { body: wanted });
  if (status !== 201) throw new Error(`No hook: ${JSON.stringify(hook)}`);
  return {
    id: hook.id,
    url: hook.url,
    secret: hook.secret,
    post: (content, headers = {}) => send(hook.url, { method: 'POST', headers, body: content }),
    requests: async () => (await call('GET', `/hooks/${hook.id}/requests`)).body,
  };
}

import type { TestApi } from '../service/api.ts';

/** What a browser without a script does at the console: it keeps a cookie, follows nothing and fills in forms. */
export interface ConsoleClient {
  readonly get: (path: string, headers?: Readonly<Record<string, string>>) => Promise<ConsoleReply>;
  /** Sends a form with the token of the session. */
  readonly post: (path: string, fields?: FormFields, options?: PostOptions) => Promise<ConsoleReply>;
  /** `name=value` of the session. */
  readonly cookie: string;
  /** The value that forms of the session carry. */
  readonly formToken: string;
}

export type FormFields = Readonly<Record<string, string | readonly string[]>>;

interface PostOptions {
  /** Null: none is sent. */
  readonly origin?: string | null;
  readonly cookie?: string;
  readonly formToken?: string;
  /** Instead of the fields. */
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A response of the console. */
export interface ConsoleReply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

const origin = 'http://localhost';

/** Sends a request to the app itself. */
async function send(app: TestApi['app'], path: string, init: RequestInit): Promise<ConsoleReply> {
  const response = await app.request(path, init);
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** Signs in with a key; throws when it is refused. */
export async function openConsole({ app }: Pick<TestApi, 'app'>, apiKey: string): Promise<ConsoleClient> {
  const signedIn = await send(app, '/console/sign-in', {
    method: 'POST',
    headers: { origin, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ key: apiKey }).toString(),
  });
  const [cookie = ''] = (signedIn.headers.get('set-cookie') ?? '').split(';');
  if (signedIn.status !== 303) throw new Error(`Not signed in: ${signedIn.status}`);
  const first = await send(app, '/console/api-keys', { headers: { cookie } });
  const formToken = /name="form_token" value="([^"]+)"/.exec(first.text)?.[1] ?? '';
  return {
    cookie,
    formToken,
    get: (path, headers = {}) => send(app, path, { headers: { cookie, ...headers } }),
    post: (path, fields = {}, options = {}) => {
      const from = options.origin === undefined ? origin : options.origin;
      return send(app, path, {
        method: 'POST',
        headers: {
          cookie: options.cookie ?? cookie,
          'content-type': 'application/x-www-form-urlencoded',
          ...(from === null ? {} : { origin: from }),
          ...options.headers,
        },
        body: options.body ?? encode({ form_token: options.formToken ?? formToken, ...fields }),
      });
    },
  };
}

/** Fields as browsers encode them; a list comes once for each of its values. */
export function encode(fields: FormFields): string {
  const encoded = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    for (const one of typeof value === 'string' ? [value] : value) encoded.append(name, one);
  }
  return encoded.toString();
}

import type { Stack } from '../support/service/stack.ts';
import type { EventReceiver } from '../support/webhooks/event-receiver.ts';

/** What may have trouble, and what it has carried. */
export interface Subject {
  /** What shows trouble that began after `since` (ms since the epoch), by where it shows; null: nothing. */
  signs(since: number): Promise<Readonly<Record<string, string | null>>>;
  /** Null: everything has arrived, and nothing shows trouble. */
  trouble(): Promise<string | null>;
  /** Rows or events that have not arrived as they are. */
  lost(): Promise<number>;
  /** Rows or events that arrived once too often since the start. */
  doubled(): Promise<number>;
}

/** Where an operator with an API key looks. */
export interface Lookout {
  /** The first event of trouble that is about this id. */
  event(id: string, since: number): string | null;
  /** What the overview of the console says in its list of what needs attention. */
  console(id: string): Promise<string | null>;
  /** The body of a response of the API. Throws with its status if that is an error. */
  // oxlint-disable-next-line typescript/no-explicit-any -- as in Call
  api(path: string): Promise<any>;
}

/** The endpoint of the receiver that accepts all events. */
export const operatorEndpoint = 'operator';

const troubles =
  /^(run\.(failed|partial)|records\.quarantined|connection\.(error|overdue)|schedule\.skipped|endpoint\.)/;

/** Signs in to the console. */
export async function createLookout({ apiUrl, org }: Stack, receiver: EventReceiver): Promise<Lookout> {
  const signedIn = await fetch(`${apiUrl}/console/sign-in`, {
    method: 'POST',
    headers: { origin: apiUrl },
    body: new URLSearchParams({ key: org.apiKey }),
    redirect: 'manual',
  });
  const [cookie = ''] = signedIn.headers.get('set-cookie')?.split(';') ?? [];
  return {
    event(id, since) {
      const found = receiver.events(operatorEndpoint).find(({ type, body }) => {
        return troubles.test(type) && body.includes(id) && Date.parse(JSON.parse(body).timestamp) >= since;
      });
      return found?.type ?? null;
    },
    async console(id) {
      const response = await fetch(`${apiUrl}/console`, { headers: { cookie } });
      if (!response.ok) return `status ${response.status}`;
      const [, lines = ''] = (await response.text()).split('<ul class="lines">');
      const line = lines
        .split('</ul>')[0]
        ?.split('<li>')
        .find((one) => one.includes(id));
      return (
        line
          ?.replaceAll(/<[^>]*>/g, ' ')
          .replaceAll(/\s+/g, ' ')
          .trim() ?? null
      );
    },
    async api(path) {
      const { status, body } = await org.call('GET', path);
      if (status >= 400) throw new Error(`status ${status}`);
      return body;
    },
  };
}

/** What is found, or what the error and its cause say. */
export async function orError(find: () => Promise<string | null>): Promise<string | null> {
  try {
    return await find();
  } catch (error) {
    if (!(error instanceof Error)) return String(error);
    return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
  }
}

import { type SharedService, useSharedService } from '../service/use-shared-service.ts';
import { createScriptedApi, type ScriptedApi } from '../upstream/scripted-api.ts';
import type { UpstreamOptions } from '../upstream/upstream.ts';
import { type Connected, connect } from './connected.ts';

/** What the tests of a file share: a service, a scripted API, and connections that read one resource of it each. */
interface SharedConnections {
  readonly api: ScriptedApi;
  readonly shared: () => SharedService;
  readonly connection: (name: string, resource: Readonly<Record<string, unknown>>) => Promise<Connected>;
  /** Requests of `/{name}`, oldest first, as their query. */
  readonly asked: (name: string) => readonly URLSearchParams[];
}

/** As {@link useSharedService}, with connections that read from the upstream. */
export function useConnections({ collections = {} }: Pick<UpstreamOptions, 'collections'> = {}): SharedConnections {
  const api = createScriptedApi();
  const shared = useSharedService({ collections, reply: api.reply });
  return {
    api,
    shared,
    connection: (name, resource) => connect(shared().stack, { upstream: shared().upstream, name, resource }),
    asked: (name) =>
      shared()
        .upstream.journal.filter(({ url }) => url.split(/[/?]/)[1] === name)
        .map(({ url }) => new URLSearchParams(url.split('?')[1])),
  };
}

/** One day, ms. */
export const dayMs = 86_400_000;

/** The time so many milliseconds ago, ISO 8601. */
export const ago = (ms: number): string => new Date(Date.now() - ms).toISOString();

/** The ids of the rows at the destination of a connection. */
export const idsOf = async (connected: Connected): Promise<readonly unknown[]> =>
  (await connected.rows()).map(({ id }) => id);

/** Reads from a watermark of this field in records that come in its order. */
export const incrementalBy = (field: string) =>
  ({ kind: 'cursor', cursor: { field, type: 'datetime' }, order: 'asc', settle: 'PT0S' }) as const;

/** Pages behind a token in the body, which is sent back as `page`. */
export const byToken = { kind: 'cursor', next: 'body.next', inject: { in: 'query', name: 'page' } } as const;

/** Asks for what changed in the window. */
export const since = (name: string) => ({ path: `/${name}`, query: { since: '{{ window.from }}' } });

import type { QuarantineRow } from '../../src/core/resources/quarantine.ts';
import type { RunRow } from '../../src/core/resources/run.ts';
import type { SpecUpgrade } from '../../src/core/resources/spec.ts';
import type { Reply, TestOrg } from '../support/service/api.ts';
import { eventually } from '../support/service/eventually.ts';

type Json = Readonly<Record<string, unknown>>;

/** A request that the service refuses. */
export interface Refusal {
  readonly refused: string;
}

/** One connection of a story, over REST alone. */
export interface Account {
  readonly id: string;
  /** Requests a sync; its run, ended. */
  sync(resource: string): Promise<RunRow | Refusal>;
  /** The same without waiting. */
  request(resource: string): Promise<RunRow | Refusal>;
  backfill(body: Json): Promise<RunRow | Refusal>;
  ended(runId: string): Promise<RunRow>;
  cancel(runId: string): Promise<void>;
  upgrade(version: string): Promise<SpecUpgrade | Refusal>;
  patch(body: Json): Promise<Refusal | null>;
  activate(): Promise<Refusal | null>;
  pause(): Promise<Refusal | null>;
  quarantine(): Promise<readonly QuarantineRow[]>;
  requeue(): Promise<number>;
}

/** What a connection is made of. */
export interface AccountValues {
  readonly spec: { readonly key: string; readonly version: string };
  readonly params: Json;
  readonly secrets: Json;
}

/** Drafts and publishes a spec; null when it is published. */
export async function publish({ call }: TestOrg, document: Json): Promise<Refusal | null> {
  const drafted = await call('POST', '/specs', { body: document });
  if (drafted.status >= 400) return refusal(drafted);
  const { key, version } = document['metadata'] as { readonly key: string; readonly version: string };
  const published = await call('POST', `/specs/${key}/versions/${version}/publish`);
  return published.status >= 400 ? refusal(published) : null;
}

/** Creates and activates a connection. */
export async function openConnection(org: TestOrg, { spec, params, secrets }: AccountValues): Promise<Account> {
  const { call } = org;
  const created = await call('POST', '/connections', {
    body: {
      workspaceId: org.workspaceId,
      specKey: spec.key,
      specVersion: spec.version,
      displayName: spec.key,
      params,
      secrets,
    },
  });
  if (created.status >= 400) throw new Error(`The connection is refused: ${JSON.stringify(created.body)}`);
  const { id } = created.body;
  const ask = async (method: string, path: string, body?: Json) => {
    const reply = await call(method, `/connections/${id}${path}`, { body });
    return reply.status >= 400 ? refusal(reply) : reply.body;
  };
  const done = async (path: string): Promise<Refusal | null> => {
    const reply = await ask('POST', path);
    return isRefusal(reply) ? reply : null;
  };
  const ended = (runId: string): Promise<RunRow> =>
    eventually(
      `run ${runId} ends`,
      async () => {
        const { body } = await call('GET', `/runs/${runId}`);
        return body.finishedAt !== null && body;
      },
      { timeoutMs: 120_000, everyMs: 40 },
    );
  const completed = async (run: RunRow | Refusal) => (isRefusal(run) ? run : await ended(run.id));
  const account: Account = {
    id,
    request: (resource) => ask('POST', '/sync', { resource }),
    sync: async (resource) => await completed(await account.request(resource)),
    backfill: async (body) => await completed(await ask('POST', '/backfill', body)),
    ended,
    cancel: async (runId) => void (await call('POST', `/runs/${runId}/cancel`)),
    upgrade: (toVersion) => ask('POST', '/upgrade-spec', { toVersion }),
    async patch(body) {
      const reply = await ask('PATCH', '', { ...body, allowDeletes: true });
      return isRefusal(reply) ? reply : null;
    },
    activate: () => done('/activate'),
    pause: () => done('/pause'),
    quarantine: async () => (await call('GET', `/quarantine?connectionId=${id}`)).body,
    requeue: async () => (await call('POST', '/quarantine/requeue', { body: { connectionId: id } })).body.requeued,
  };
  const refused = await account.activate();
  if (refused) throw new Error(`The connection is not active: ${refused.refused}`);
  return account;
}

/** Whether the service refused. */
export const isRefusal = (reply: object | null): reply is Refusal => reply !== null && 'refused' in reply;

const refusal = ({ status, body }: Reply): Refusal => ({ refused: `${status} ${JSON.stringify(body)}` });

/** The outcome of a run in a few words. */
export function outcomeOf(run: RunRow | Refusal): string {
  if (isRefusal(run)) return `refused: ${run.refused}`;
  const { recordsIn, recordsOut, skipped, deleted, quarantined } = run.statsJson;
  const counts = `in ${recordsIn} out ${recordsOut} skipped ${skipped} deleted ${deleted} quarantined ${quarantined}`;
  const mark = `${run.watermarkBefore ?? '-'} -> ${run.watermarkAfter ?? '-'}`;
  const notes = 'notes' in run && run.notes ? ` notes ${JSON.stringify(run.notes)}` : '';
  return `${run.status}, ${counts}, ${mark}${notes}${run.error ? `, ${run.error.code}: ${run.error.message}` : ''}`;
}

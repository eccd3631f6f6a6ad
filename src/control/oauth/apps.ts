import type { Db } from '../../../db/client.ts';
import {
  changeOauthApp,
  countUse,
  deleteOauthApp as deleteRow,
  findOauthAppByKey,
  insertOauthApp,
  lockOauthApp,
  retestUsers,
} from '../../../db/queries/orgs/oauth-apps.ts';
import type { OrgScope } from '../../../db/scope.ts';
import { appContext } from '../../connect/oauth-apps.ts';
import { type AppError, conflict, found } from '../../core/errors.ts';
import { newId } from '../../core/ids.ts';
import type { OauthAppRow, OauthAppWritten } from '../../core/resources/oauth-app.ts';
import type { Deps } from '../../deps.ts';
import { requireRoom } from '../orgs/org-limits.ts';
import { type WriteDeps, write } from '../orgs/write.ts';

type AppDeps = WriteDeps & Pick<Deps, 'secretBox'>;

interface NewApp extends Pick<OauthAppRow, 'key' | 'workspaceKind' | 'clientId'> {
  /** `null` for a public client. */
  readonly clientSecret: string | null;
  /** True if customers may have to authorize again. */
  readonly allowReauthorization: boolean;
}

/**
 * Connections in error that use it are tested at once. Throws conflict (the org has an app of that key and kind, or as many as
 * it may; connections are authorized with the client of another app that it replaces).
 */
export async function createOauthApp(deps: AppDeps, scope: OrgScope, request: NewApp): Promise<OauthAppWritten> {
  const { clientSecret, allowReauthorization, ...facts } = request;
  const id = newId('oap');
  const sealed = clientSecret === null ? null : seal(deps, scope, id, clientSecret);
  return write(deps, async (tx) => {
    await requireRoom(tx, scope, 'oauthApps');
    const general =
      facts.workspaceKind === null ? undefined : await findOauthAppByKey(tx, scope, { ...facts, workspaceKind: null });
    const authorized = general ? await toAuthorize(tx, scope, { ...facts, before: general.clientId }) : 0;
    const app = await insertOauthApp(tx, scope, { ...facts, id, sealed });
    if (!app)
      throw conflict('The org has an OAuth app of that key and kind of workspace: change it, or choose another.');
    if (authorized > 0 && !allowReauthorization) throw wouldEndGrants(authorized);
    await retestUsers(tx, scope, app);
    return { ...app, connectionsToAuthorize: authorized };
  });
}

interface AppChange {
  readonly id: string;
  readonly clientId?: string | undefined;
  /** `null` removes it. */
  readonly clientSecret?: string | null | undefined;
  readonly allowReauthorization: boolean;
}

/**
 * The next token request of each connection uses it; those in error are tested at once. Throws not_found, conflict (connections
 * are authorized with the client id that it had).
 */
export async function updateOauthApp(
  deps: AppDeps,
  scope: OrgScope,
  { id, clientSecret, allowReauthorization, ...change }: AppChange,
): Promise<OauthAppWritten> {
  const sealed = typeof clientSecret === 'string' ? seal(deps, scope, id, clientSecret) : clientSecret;
  return deps.db.transaction().execute(async (tx) => {
    const before = found(await lockOauthApp(tx, scope, id), 'OAuth app');
    const clientId = change.clientId ?? before.clientId;
    const authorized = await toAuthorize(tx, scope, { ...before, clientId, before: before.clientId });
    if (authorized > 0 && !allowReauthorization) throw wouldEndGrants(authorized);
    const app = await changeOauthApp(tx, scope, { id, clientId, sealed });
    await retestUsers(tx, scope, app);
    return { ...app, connectionsToAuthorize: authorized };
  });
}

/** Throws not_found, conflict (a connection uses it). */
export async function deleteOauthApp({ db }: Pick<Deps, 'db'>, scope: OrgScope, id: string): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const app = found(await lockOauthApp(tx, scope, id), 'OAuth app');
    const { connections } = await countUse(tx, scope, app);
    if (connections > 0) {
      const advice = 'Delete them, or upgrade them to a version of their spec without it.';
      throw conflict(`${counted(connections, 'uses', 'use')} this OAuth app. ${advice}`);
    }
    await deleteRow(tx, scope, id);
  });
}

/** A refresh token is of the client that it was issued to (RFC 6749 6), so another client id ends the grants. */
async function toAuthorize(
  tx: Db,
  scope: OrgScope,
  { before, ...app }: Pick<OauthAppRow, 'key' | 'workspaceKind' | 'clientId'> & { readonly before: string },
): Promise<number> {
  return app.clientId === before ? 0 : (await countUse(tx, scope, app)).authorized;
}

function wouldEndGrants(connections: number): AppError {
  const message = `${counted(connections, 'is', 'are')} authorized with another client id: the customers would have to authorize again.`;
  return conflict(`${message} Nothing was changed. Send allowReauthorization: true to agree.`);
}

const counted = (connections: number, one: string, many: string): string =>
  connections === 1 ? `1 connection ${one}` : `${connections} connections ${many}`;

const seal = ({ secretBox }: Pick<Deps, 'secretBox'>, { orgId }: OrgScope, id: string, clientSecret: string) =>
  secretBox.seal(clientSecret, appContext(orgId, id));

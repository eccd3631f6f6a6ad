import type { Db } from '../../../db/client.ts';
import { insertOrg, type Org } from '../../../db/queries/orgs/orgs.ts';
import { insertWorkspace } from '../../../db/queries/orgs/workspaces.ts';
import { orgScope } from '../../../db/scope.ts';
import { WorkspaceKind, type WorkspaceRow } from '../../core/resources/workspace.ts';
import type { Deps } from '../../deps.ts';
import { type IssuedApiKey, issueWithin } from './api-keys.ts';

/** The default scopes of an API key: everything in its org. */
export const fullScopes: readonly string[] = ['*'];

/** An org that can be used at once. */
export interface NewOrg {
  readonly org: Org;
  /** The workspaces, one of each kind: dev, staging, prod. */
  readonly workspaces: readonly WorkspaceRow[];
  readonly apiKey: IssuedApiKey;
}

/** An org with a workspace of each kind and a first key, all or nothing. For the operator; no request makes orgs. */
export function createOrg(
  { db }: Pick<Deps, 'db'>,
  org: Pick<Org, 'name' | 'plan' | 'activeConnectionsMax'>,
): Promise<NewOrg> {
  return db.transaction().execute(async (tx) => {
    const made = await insertOrg(tx, org);
    const scope = orgScope(made.id);
    const workspaces = await insertWorkspaces(tx, scope);
    const apiKey = await issueWithin(tx, scope, { scopes: fullScopes, expiresAt: null, createdByKeyId: null });
    return { org: made, workspaces, apiKey };
  });
}

async function insertWorkspaces(db: Db, scope: ReturnType<typeof orgScope>): Promise<readonly WorkspaceRow[]> {
  const workspaces: WorkspaceRow[] = [];
  for (const kind of WorkspaceKind.options) {
    const workspace = await insertWorkspace(db, scope, { name: kind, kind });
    if (workspace) workspaces.push(workspace);
  }
  return workspaces;
}

import type { Db } from '../../../db/client.ts';
import type { KeyGrant } from '../../../db/queries/orgs/api-keys.ts';
import { insertOrg, type Org } from '../../../db/queries/orgs/orgs.ts';
import { insertWorkspace } from '../../../db/queries/orgs/workspaces.ts';
import { orgScope } from '../../../db/scope.ts';
import { WorkspaceKind, type WorkspaceRow } from '../../core/resources/workspace.ts';
import type { Deps } from '../../deps.ts';
import { type CreatedApiKey, createApiKeyWithin } from './api-keys.ts';

/** Keys created by the operator never expire. */
export const operatorGrant: KeyGrant = { workspaceId: null, scopes: ['*'], expiresAt: null, createdByKeyId: null };

export interface NewOrg {
  readonly org: Org;
  /** A dev, a staging and a prod workspace. */
  readonly workspaces: readonly WorkspaceRow[];
  readonly apiKey: CreatedApiKey;
}

/** All or nothing; only for the operator, as no request makes orgs. */
export function createOrg(
  { db }: Pick<Deps, 'db'>,
  org: Pick<Org, 'name' | 'plan' | 'activeConnectionsMax'>,
): Promise<NewOrg> {
  return db.transaction().execute(async (tx) => {
    const made = await insertOrg(tx, org);
    const scope = orgScope(made.id);
    const workspaces = await insertWorkspaces(tx, scope);
    const apiKey = await createApiKeyWithin(tx, scope, operatorGrant);
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

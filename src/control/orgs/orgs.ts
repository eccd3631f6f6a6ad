import type { Db } from '../../../db/client.ts';
import type { KeyGrant } from '../../../db/queries/orgs/api-keys.ts';
import { insertOrg, type Org } from '../../../db/queries/orgs/orgs.ts';
import { insertWorkspace } from '../../../db/queries/orgs/workspaces.ts';
import { orgScope } from '../../../db/scope.ts';
import { WorkspaceKind, type WorkspaceRow } from '../../core/resources/workspace.ts';
import type { Deps } from '../../deps.ts';
import { type CreatedApiKey, createApiKeyWithin } from './api-keys.ts';

/** What a key has that the operator creates: no end. */
export const operatorGrant: KeyGrant = { workspaceId: null, scopes: ['*'], expiresAt: null, createdByKeyId: null };

/** An org that can be used at once. */
export interface NewOrg {
  readonly org: Org;
  /** The workspaces, one of each kind: dev, staging, prod. */
  readonly workspaces: readonly WorkspaceRow[];
  readonly apiKey: CreatedApiKey;
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

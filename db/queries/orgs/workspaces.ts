import { newId } from '../../../src/core/ids.ts';
import type { WorkspaceKind, WorkspaceRow } from '../../../src/core/resources/workspace.ts';
import type { Db } from '../../client.ts';
import { type Listing, openNewestFirst } from '../../listing.ts';
import type { OrgScope } from '../../scope.ts';

const columns = ['id', 'name', 'kind', 'createdAt'] as const;

/** The workspace, or undefined when it is absent or of another org. */
export function findWorkspace(db: Db, scope: OrgScope, id: string): Promise<WorkspaceRow | undefined> {
  return db
    .selectFrom('workspaces')
    .select(columns)
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .executeTakeFirst();
}

/** Every workspace of the org, newest first. */
export async function listWorkspaces(db: Db, scope: OrgScope): Promise<Listing<WorkspaceRow>> {
  return await openNewestFirst(db.selectFrom('workspaces').select(columns).where('orgId', '=', scope.orgId));
}

/** A new workspace, or undefined when the org has one of that name. */
export function insertWorkspace(
  db: Db,
  scope: OrgScope,
  { name, kind }: { readonly name: string; readonly kind: WorkspaceKind },
): Promise<WorkspaceRow | undefined> {
  return db
    .insertInto('workspaces')
    .values({ id: newId('ws'), orgId: scope.orgId, name, kind })
    .onConflict((conflict) => conflict.columns(['orgId', 'name']).doNothing())
    .returning(columns)
    .executeTakeFirst();
}

import { insertWorkspace } from '../../../db/queries/orgs/workspaces.ts';
import type { OrgScope } from '../../../db/scope.ts';
import { conflict } from '../../core/errors.ts';
import type { WorkspaceKind, WorkspaceRow } from '../../core/resources/workspace.ts';
import type { Deps } from '../../deps.ts';
import { requireRoom } from './org-limits.ts';

/** A new workspace of the org. Throws conflict when it has one of that name, or as many as it may. */
export async function createWorkspace(
  { db }: Pick<Deps, 'db'>,
  scope: OrgScope,
  request: { readonly name: string; readonly kind: WorkspaceKind },
): Promise<WorkspaceRow> {
  const workspace = await db.transaction().execute(async (tx) => {
    await requireRoom(tx, scope, 'workspaces');
    return insertWorkspace(tx, scope, request);
  });
  if (!workspace) throw conflict(`The org has a workspace of that name: choose another.`);
  return workspace;
}

import { insertWorkspace } from '../../../db/queries/orgs/workspaces.ts';
import type { OrgScope } from '../../../db/scope.ts';
import { conflict } from '../../core/errors.ts';
import type { WorkspaceKind, WorkspaceRow } from '../../core/resources/workspace.ts';
import { requireRoom } from './org-limits.ts';
import { type WriteDeps, write } from './write.ts';

/** Throws conflict when the org has a workspace of that name, or as many as it may. */
export async function createWorkspace(
  deps: WriteDeps,
  scope: OrgScope,
  request: { readonly name: string; readonly kind: WorkspaceKind },
): Promise<WorkspaceRow> {
  return write(deps, async (tx) => {
    await requireRoom(tx, scope, 'workspaces');
    const workspace = await insertWorkspace(tx, scope, request);
    if (!workspace) throw conflict(`The org has a workspace of that name: choose another.`);
    return workspace;
  });
}

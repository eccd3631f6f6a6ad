import { insertWorkspace } from '../../db/queries/workspaces.ts';
import type { OrgScope } from '../../db/scope.ts';
import { conflict } from '../core/errors.ts';
import type { WorkspaceKind, WorkspaceRow } from '../core/rows.ts';
import type { Deps } from '../deps.ts';

/** A new workspace of the org. Throws conflict when it has one of that name. */
export async function createWorkspace(
  { db }: Pick<Deps, 'db'>,
  scope: OrgScope,
  request: { readonly name: string; readonly kind: WorkspaceKind },
): Promise<WorkspaceRow> {
  const workspace = await insertWorkspace(db, scope, request);
  if (!workspace) throw conflict(`The org has a workspace of that name: choose another.`);
  return workspace;
}

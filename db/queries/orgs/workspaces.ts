import { sql } from 'kysely';
import { newId } from '../../../src/core/ids.ts';
import type { WorkspaceKind, WorkspaceRow } from '../../../src/core/resources/workspace.ts';
import type { Db } from '../../client.ts';
import { type Listing, openNewestFirst } from '../../listing.ts';
import type { OrgScope } from '../../scope.ts';

const columns = ['id', 'name', 'kind', 'createdAt'] as const;

export function findWorkspace(db: Db, scope: OrgScope, id: string): Promise<WorkspaceRow | undefined> {
  return db
    .selectFrom('workspaces')
    .select(columns)
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .executeTakeFirst();
}

export async function listWorkspaces(db: Db, scope: OrgScope): Promise<Listing<WorkspaceRow>> {
  return await openNewestFirst(db.selectFrom('workspaces').select(columns).where('orgId', '=', scope.orgId));
}

/** `undefined` if the org has a workspace of that name. */
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

/** The org by its name, and its first workspaces. */
export interface OrgPlace {
  readonly name: string;
  readonly workspaces: readonly Pick<WorkspaceRow, 'name' | 'kind'>[];
}

export async function findPlace(
  db: Db,
  scope: OrgScope,
  { workspacesMax }: { readonly workspacesMax: number },
): Promise<OrgPlace | undefined> {
  const first = sql<OrgPlace['workspaces']>`coalesce((
    select jsonb_agg(jsonb_build_object('name', name, 'kind', kind) order by id)
    from (select id, name, kind from workspaces where org_id = ${scope.orgId} order by id limit ${workspacesMax}) first), '[]')`;
  return await db
    .selectFrom('orgs')
    .select(['name', first.as('workspaces')])
    .where('id', '=', scope.orgId)
    .executeTakeFirst();
}

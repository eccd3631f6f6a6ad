import { newId } from '../../src/core/ids.ts';
import type { JsonObject, SpecVersionRow } from '../../src/core/rows.ts';
import type { Db } from '../client.ts';
import type { OrgScope } from '../scope.ts';

const columns = [
  'specVersions.id',
  'specVersions.specId',
  'specVersions.version',
  'specVersions.specJson',
  'specVersions.status',
  'specVersions.checksum',
  'specVersions.publishedAt',
] as const;

/** One version of a spec, or undefined when the key or the version is unknown in this org. */
export function findSpecVersion(
  db: Db,
  scope: OrgScope,
  { key, version }: { readonly key: string; readonly version: string },
): Promise<SpecVersionRow | undefined> {
  return db
    .selectFrom('specVersions')
    .innerJoin('specs', 'specs.id', 'specVersions.specId')
    .select(columns)
    .where('specVersions.orgId', '=', scope.orgId)
    .where('specs.key', '=', key)
    .where('specVersions.version', '=', version)
    .executeTakeFirst();
}

/** The version a connection is pinned to, or undefined when either is absent. */
export function findPinnedSpec(db: Db, scope: OrgScope, connectionId: string): Promise<SpecVersionRow | undefined> {
  return db
    .selectFrom('connections')
    .innerJoin('specVersions', (join) =>
      join
        .onRef('specVersions.specId', '=', 'connections.specId')
        .onRef('specVersions.version', '=', 'connections.pinnedSpecVersion'),
    )
    .select(columns)
    .where('connections.orgId', '=', scope.orgId)
    .where('connections.id', '=', connectionId)
    .executeTakeFirst();
}

/** Every version of every spec of the org, newest first; with `key`, of that spec alone. */
export function listSpecVersions(db: Db, scope: OrgScope, key?: string): Promise<SpecVersionRow[]> {
  let query = db
    .selectFrom('specVersions')
    .innerJoin('specs', 'specs.id', 'specVersions.specId')
    .select(columns)
    .where('specVersions.orgId', '=', scope.orgId);
  if (key !== undefined) query = query.where('specs.key', '=', key);
  return query.orderBy('specVersions.id', 'desc').execute();
}

/** The id of the spec with that key, made when it is not there yet. */
export async function ensureSpec(db: Db, scope: OrgScope, key: string): Promise<string> {
  await db
    .insertInto('specs')
    .values({ id: newId('spec'), orgId: scope.orgId, key })
    .onConflict((conflict) => conflict.columns(['orgId', 'key']).doNothing())
    .execute();
  const spec = await db
    .selectFrom('specs')
    .select('id')
    .where('orgId', '=', scope.orgId)
    .where('key', '=', key)
    .executeTakeFirstOrThrow();
  return spec.id;
}

interface Draft {
  readonly specId: string;
  readonly version: string;
  readonly specJson: JsonObject;
  readonly checksum: string;
}

/** A new draft, or undefined when the version exists already. */
export function insertDraft(db: Db, scope: OrgScope, draft: Draft): Promise<SpecVersionRow | undefined> {
  return db
    .insertInto('specVersions')
    .values({
      ...draft,
      id: newId('specver'),
      orgId: scope.orgId,
      status: 'draft',
      specJson: JSON.stringify(draft.specJson),
    })
    .onConflict((conflict) => conflict.columns(['orgId', 'specId', 'version']).doNothing())
    .returning(columns)
    .executeTakeFirst();
}

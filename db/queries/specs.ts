import { type SqlBool, sql } from 'kysely';
import { newId } from '../../src/core/ids.ts';
import type { JsonObject } from '../../src/core/json/json-object.ts';
import type { SpecRow, SpecVersionRow } from '../../src/core/resources/spec.ts';
import type { Db } from '../client.ts';
import { countRows, type Listing, openListing } from '../listing.ts';
import { newestPage, type Page, type PageRequest } from '../page.ts';
import type { OrgScope } from '../scope.ts';
import { type Placeholders, statement } from '../statement.ts';

const columns = [
  'specVersions.id',
  'specVersions.specId',
  'specVersions.version',
  'specVersions.specJson',
  'specVersions.status',
  'specVersions.checksum',
  'specVersions.publishedAt',
] as const;

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

export async function findPinnedSpec(
  db: Db,
  scope: OrgScope,
  connectionId: string,
): Promise<SpecVersionRow | undefined> {
  const [version] = await pinnedVersion(db, { orgId: scope.orgId, connectionId });
  return version;
}

const pinnedVersion = statement(
  (db, { orgId, connectionId }: Placeholders<{ readonly orgId: string; readonly connectionId: string }>) =>
    db
      .selectFrom('connections')
      .innerJoin('specVersions', (join) =>
        join
          .onRef('specVersions.specId', '=', 'connections.specId')
          .onRef('specVersions.version', '=', 'connections.pinnedSpecVersion'),
      )
      .select(columns)
      .where('connections.orgId', '=', orgId)
      .where('connections.id', '=', connectionId),
);

/** The version that was published last; `undefined` if there is none. */
export async function findNewestPublished(db: Db, scope: OrgScope, key: string): Promise<string | undefined> {
  const newest = await db
    .selectFrom('specVersions')
    .innerJoin('specs', 'specs.id', 'specVersions.specId')
    .select('specVersions.version')
    .where('specVersions.orgId', '=', scope.orgId)
    .where('specs.key', '=', key)
    .where('specVersions.status', '=', 'published')
    .orderBy('specVersions.publishedAt', 'desc')
    .limit(1)
    .executeTakeFirst();
  return newest?.version;
}

export function findVersionOfSpec(
  db: Db,
  scope: OrgScope,
  { specId, version }: { readonly specId: string; readonly version: string },
): Promise<SpecVersionRow | undefined> {
  return db
    .selectFrom('specVersions')
    .select(columns)
    .where('orgId', '=', scope.orgId)
    .where('specId', '=', specId)
    .where('version', '=', version)
    .executeTakeFirst();
}

/** Only specs that have a version; the versions are read while the list is sent. */
export async function listSpecs(db: Db, scope: OrgScope): Promise<Listing<SpecRow>> {
  const ofOrg = db
    .selectFrom('specVersions')
    .innerJoin('specs', 'specs.id', 'specVersions.specId')
    .where('specs.orgId', '=', scope.orgId)
    .where('specVersions.orgId', '=', scope.orgId);
  const versions = await openListing<VersionOfSpec>({
    batch: (last, limit) =>
      (last
        ? ofOrg.where((eb) =>
            eb(eb.refTuple('specVersions.specId', 'specVersions.id'), '<', eb.tuple(last.specId, last.id)),
          )
        : ofOrg
      )
        .select(['specVersions.specId', 'specVersions.id', 'specs.key', 'specVersions.version', 'specVersions.status'])
        .orderBy('specVersions.specId', 'desc')
        .orderBy('specVersions.id', 'desc')
        .limit(limit)
        .execute(),
    count: () => countRows(ofOrg),
  });
  const total = await countRows(specsOf(db, scope));
  return { total, rows: bySpec(versions.rows) };
}

interface VersionOfSpec extends Pick<SpecVersionRow, 'id' | 'specId' | 'version' | 'status'> {
  readonly key: string;
}

/** Versions of one spec must be adjacent. */
async function* bySpec(rows: AsyncIterable<VersionOfSpec>): AsyncIterable<SpecRow> {
  let spec: SpecRow | undefined;
  for await (const { specId, key, version, status } of rows) {
    if (spec && spec.id !== specId) {
      yield spec;
      spec = undefined;
    }
    spec ??= { id: specId, key, versions: [] };
    spec.versions.push({ version, status });
  }
  if (spec) yield spec;
}

const specsOf = (db: Db, { orgId }: OrgScope) =>
  db
    .selectFrom('specs')
    .where('orgId', '=', orgId)
    .where(sql<SqlBool>`exists (
      select from spec_versions where spec_versions.org_id = specs.org_id and spec_versions.spec_id = specs.id)`);

export interface SpecLine extends Pick<SpecRow, 'id' | 'key' | 'versions'> {
  /** Number of all versions; `versions` are the newest. */
  readonly versionCount: number;
}

interface SpecsRequest extends PageRequest {
  readonly versionsMax: number;
  /** Absent: versions of every status. */
  readonly status?: SpecVersionRow['status'];
}

/** Specs whose key has the text in it, in any case, by their keys. */
export function findSpecsByKey(
  db: Db,
  scope: OrgScope,
  { text, limit }: { readonly text: string; readonly limit: number },
): Promise<readonly Pick<SpecRow, 'id' | 'key'>[]> {
  return specsOf(db, scope)
    .select(['id', 'key'])
    .where(sql<SqlBool>`position(${text.toLowerCase()} in lower(key)) > 0`)
    .orderBy('key')
    .limit(limit)
    .execute();
}

export function findSpecsPage(
  db: Db,
  scope: OrgScope,
  { versionsMax, status, ...request }: SpecsRequest,
): Promise<Page<SpecLine>> {
  const own = sql`spec_versions where spec_versions.org_id = specs.org_id and spec_versions.spec_id = specs.id
    ${status === undefined ? sql`` : sql`and spec_versions.status = ${status}`}`;
  const newest = sql<SpecRow['versions']>`(
    select coalesce(jsonb_agg(jsonb_build_object('version', version, 'status', status) order by newest.id desc), '[]')
    from (select spec_versions.* from ${own} order by spec_versions.id desc limit ${versionsMax}) newest)`;
  const count = sql<number>`(select count(*)::int from ${own})`;
  return newestPage(specsOf(db, scope).select(['id', 'key', newest.as('versions'), count.as('versionCount')]), request);
}

/** The newest version of each spec of these keys. */
export function findNewestVersions(
  db: Db,
  scope: OrgScope,
  keys: readonly string[],
): Promise<readonly { readonly key: string; readonly version: string; readonly status: SpecVersionRow['status'] }[]> {
  return db
    .selectFrom('specVersions')
    .innerJoin('specs', 'specs.id', 'specVersions.specId')
    .distinctOn('specs.id')
    .select(['specs.key', 'specVersions.version', 'specVersions.status'])
    .where('specs.orgId', '=', scope.orgId)
    .where('specVersions.orgId', '=', scope.orgId)
    .where('specs.key', 'in', keys)
    .orderBy('specs.id')
    .orderBy('specVersions.id', 'desc')
    .execute();
}

export type VersionLine = Pick<SpecVersionRow, 'id' | 'version' | 'status'>;

export const findVersionsPage = (
  db: Db,
  scope: OrgScope,
  key: string,
  request: PageRequest,
): Promise<Page<VersionLine>> =>
  newestPage(
    db
      .selectFrom('specVersions')
      .select(['id', 'version', 'status'])
      .where('orgId', '=', scope.orgId)
      .where('specId', '=', (eb) =>
        eb.selectFrom('specs').select('specs.id').where('specs.orgId', '=', scope.orgId).where('specs.key', '=', key),
      ),
    request,
  );

export function listSpecVersions(db: Db, scope: OrgScope, key: string): Promise<Listing<SpecVersionRow>> {
  const ofKey = db
    .selectFrom('specVersions')
    .innerJoin('specs', 'specs.id', 'specVersions.specId')
    .where('specVersions.orgId', '=', scope.orgId)
    .where('specs.key', '=', key);
  const nextOf = (last: SpecVersionRow | null, limit: number) =>
    (last ? ofKey.where('specVersions.id', '<', last.id) : ofKey).orderBy('specVersions.id', 'desc').limit(limit);
  return openListing({
    batch: (last, limit) => nextOf(last, limit).select(columns).execute(),
    async measure(last, limit) {
      const bytes = sql<number>`pg_column_size(spec_versions.spec_json)`.as('bytes');
      return (await nextOf(last, limit).select(bytes).execute()).map((row) => row.bytes);
    },
    count: () => countRows(ofKey),
  });
}

export async function hasSpec(db: Db, scope: OrgScope, key: string): Promise<boolean> {
  const spec = db.selectFrom('specs').select('id').where('orgId', '=', scope.orgId).where('key', '=', key);
  return (await spec.executeTakeFirst()) !== undefined;
}

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

/** `undefined` if the version exists already. */
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

/** `undefined` if the version is not, or no longer, a draft of this content. */
export function markPublished(
  db: Db,
  scope: OrgScope,
  { id, checksum }: Pick<SpecVersionRow, 'id' | 'checksum'>,
): Promise<SpecVersionRow | undefined> {
  return db
    .updateTable('specVersions')
    .set({ status: 'published', publishedAt: sql`now()` })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .where('status', '=', 'draft')
    .where('checksum', '=', checksum)
    .returning(columns)
    .executeTakeFirst();
}

/** Closes a version to new pins; `undefined` if it is not, or no longer, published. */
export function markDeprecated(db: Db, scope: OrgScope, id: string): Promise<SpecVersionRow | undefined> {
  return db
    .updateTable('specVersions')
    .set({ status: 'deprecated' })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .where('status', '=', 'published')
    .returning(columns)
    .executeTakeFirst();
}

export function updateDraft(
  db: Db,
  scope: OrgScope,
  { id, specJson, checksum }: { readonly id: string; readonly specJson: JsonObject; readonly checksum: string },
): Promise<SpecVersionRow | undefined> {
  return db
    .updateTable('specVersions')
    .set({ specJson: JSON.stringify(specJson), checksum })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .where('status', '=', 'draft')
    .returning(columns)
    .executeTakeFirst();
}

export async function removeDraft(db: Db, scope: OrgScope, id: string): Promise<boolean> {
  const removed = await db
    .deleteFrom('specVersions')
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .where('status', '=', 'draft')
    .returning('id')
    .executeTakeFirst();
  return removed !== undefined;
}

/** Tables whose texts contain sealed ones. No index finds these, so the rotation of keys reads a table some blocks at a time. */
import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../../client.ts';
import type { OrgScope } from '../../scope.ts';

interface SealedTextTable {
  readonly name: string;
  readonly texts: readonly string[];
  /** Columns of type jsonb. */
  readonly documents: readonly string[];
  readonly connection: RawBuilder<string>;
  readonly org: RawBuilder<string>;
}

const ofRow = sql<string>`t.connection_id`;
const ofLane = sql<string>`(select connection_id from lanes where lanes.id = t.lane_id)`;
const ofRun = sql<string>`(select connection_id from runs where runs.id = t.run_id)`;
const ofOwnOrg = sql<string>`t.org_id`;
const orgOfLane = sql<string>`(select org_id from lanes where lanes.id = t.lane_id)`;

const sealedTextTables = {
  runs: {
    name: 'runs',
    texts: ['watermark_before', 'watermark_after'],
    documents: ['position'],
    connection: ofRow,
    org: ofOwnOrg,
  },
  partitions: {
    name: 'partitions',
    texts: ['watermark', 'first_start', 'deletions_to'],
    documents: ['validators', 'pending'],
    connection: ofLane,
    org: ofOwnOrg,
  },
  runDimensions: { name: 'run_dimensions', texts: [], documents: ['value'], connection: ofRun, org: ofOwnOrg },
  lookupCache: { name: 'lookup_cache', texts: ['value'], documents: [], connection: ofRow, org: ofOwnOrg },
  recordState: { name: 'record_state', texts: ['cursor'], documents: ['fields'], connection: ofLane, org: orgOfLane },
  listedDeletions: {
    name: 'listed_deletions',
    texts: ['deleted_at'],
    documents: [],
    connection: ofLane,
    org: orgOfLane,
  },
  quarantine: { name: 'quarantine', texts: ['sealed_json'], documents: [], connection: ofRow, org: ofOwnOrg },
  outboxes: {
    name: 'outboxes',
    texts: ['address', 'receipt', 'carried_receipt', 'pending_draft'],
    documents: [],
    connection: ofLane,
    org: ofOwnOrg,
  },
} as const satisfies Readonly<Record<string, SealedTextTable>>;

export type SealedTextTableName = keyof typeof sealedTextTables;
export const sealedTextTableNames = Object.keys(sealedTextTables) as readonly SealedTextTableName[];

/** A range of blocks, `to` not included. */
export interface Blocks {
  readonly from: number;
  readonly to: number;
}

export async function countBlocks(db: Db, table: SealedTextTableName): Promise<number> {
  const { name } = sealedTextTables[table];
  const { rows } = await sql<{ readonly blocks: number }>`
    select (pg_relation_size(${name}::regclass) / current_setting('block_size')::int)::int as blocks`.execute(db);
  return rows[0]?.blocks ?? 0;
}

export interface SealedText {
  readonly orgId: string;
  readonly connectionId: string;
  readonly text: string;
}

export async function findSealedTexts(
  db: Db,
  table: SealedTextTableName,
  blocks: Blocks,
): Promise<readonly SealedText[]> {
  const { connection, org } = sealedTextTables[table];
  const { rows } = await sql<SealedText>`
    select ${org} as org_id, ${connection} as connection_id, found[1] as text
    from ${rowsOf(table)},
      lateral regexp_matches(concat_ws(' ', ${sql.join(columnsOf(table))}), ${sealedText}, 'g') as found
    where ${inBlocks(blocks)} and ${anyColumn(table, (column) => sql`${column} like '%sealed:%'`)}`.execute(db);
  return rows;
}

/** A row by its place, which it keeps while it is locked. */
export interface PlacedRow {
  readonly orgId: string;
  readonly place: string;
}

/** Rows in some blocks with a text sealed under another key than `kekId`. */
export async function findOtherwiseSealed(
  db: Db,
  table: SealedTextTableName,
  { kekId, ...blocks }: Blocks & { readonly kekId: string },
): Promise<readonly PlacedRow[]> {
  const { rows } = await sql<PlacedRow>`
    select ${sealedTextTables[table].org} as org_id, t.ctid::text as place from ${rowsOf(table)}
    where ${inBlocks(blocks)} and ${anyColumn(table, (column) => sql`${column} like '%sealed:%' and ${column} ~ ${sealedByOthers(kekId)}`)}`.execute(
    db,
  );
  return rows;
}

export type RowTexts = Readonly<Record<string, string | null>>;

/** Texts of a row, locked until the transaction ends; `undefined` if it has moved, or another transaction holds it. */
export async function lockRowTexts(
  tx: Db,
  { orgId }: OrgScope,
  { table, place }: { readonly table: SealedTextTableName; readonly place: string },
): Promise<{ readonly connectionId: string; readonly texts: RowTexts } | undefined> {
  const { name, connection, org, texts, documents } = sealedTextTables[table];
  const columns = [...texts, ...documents].map((column) => sql`${sql.lit(column)}, ${sql.ref(`t.${column}`)}::text`);
  const { rows } = await sql<{ readonly connectionId: string; readonly texts: RowTexts }>`
    select ${connection} as connection_id, jsonb_build_object(${sql.join(columns)}) as texts
    from ${sql.table(name)} t where ${org} = ${orgId} and ctid = ${place}::tid
    for no key update of t skip locked`.execute(tx);
  return rows[0];
}

export async function putRowTexts(
  tx: Db,
  { orgId }: OrgScope,
  { table, place, texts }: { readonly table: SealedTextTableName; readonly place: string; readonly texts: RowTexts },
): Promise<void> {
  const documents: readonly string[] = sealedTextTables[table].documents;
  const changes = Object.entries(texts).map(
    ([column, text]) => sql`${sql.ref(column)} = ${text}::${sql.raw(documents.includes(column) ? 'jsonb' : 'text')}`,
  );
  await sql`
    update ${sql.table(sealedTextTables[table].name)} t set ${sql.join(changes)}
    where ${sealedTextTables[table].org} = ${orgId} and ctid = ${place}::tid`.execute(tx);
}

/** The form that `createSealedEchoes` writes: the key, and three parts in base64url. */
const sealedText = 'sealed:[\\w-]+(?:\\.[\\w-]+){3}';
const sealedByOthers = (kekId: string): string => `sealed:(?!${kekId}\\.)[\\w-]+(?:\\.[\\w-]+){3}`;

const rowsOf = (table: SealedTextTableName): RawBuilder<unknown> => sql`${sql.table(sealedTextTables[table].name)} t`;
const inBlocks = ({ from, to }: Blocks): RawBuilder<unknown> =>
  sql`t.ctid >= ${`(${from},0)`}::tid and t.ctid < ${`(${to},0)`}::tid`;

const columnsOf = (table: SealedTextTableName): readonly RawBuilder<unknown>[] => {
  const { texts, documents } = sealedTextTables[table];
  return [...texts, ...documents].map((column) => sql`${sql.ref(column)}::text`);
};

const anyColumn = (
  table: SealedTextTableName,
  condition: (column: RawBuilder<unknown>) => RawBuilder<unknown>,
): RawBuilder<unknown> =>
  sql`(${sql.join(
    columnsOf(table).map((column) => sql`(${condition(column)})`),
    sql` or `,
  )})`;

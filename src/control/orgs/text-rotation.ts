/** Rewraps sealed values within stored texts: positions, watermarks, cached responses, addresses of receivers. */
import {
  type Blocks,
  countBlocks,
  findOtherwiseSealed,
  findSealedTexts,
  lockRowTexts,
  type PlacedRow,
  putRowTexts,
  type RowTexts,
  type SealedTextTableName,
  sealedTextTableNames,
} from '../../../db/queries/connections/sealed-texts.ts';
import { orgScope } from '../../../db/scope.ts';
import { echoKey, rewrapEchoes } from '../../connect/sealed-echoes.ts';
import type { Deps } from '../../deps.ts';

type TextRotationDeps = Pick<Deps, 'db' | 'secretBox'>;

/** Blocks of a table that one statement reads: 16 MB. */
const blocksAtOnce = 2000;
const rowsAtOnce = 20;

export interface SealedTextCount {
  readonly table: SealedTextTableName;
  readonly kekId: string;
  readonly count: number;
}

/** Texts that no key of the ring opens are left out: they count as not stored, and their content is read anew. */
export async function countSealedTexts({ db, secretBox }: TextRotationDeps): Promise<readonly SealedTextCount[]> {
  const counts: SealedTextCount[] = [];
  for (const table of sealedTextTableNames) {
    const ofTable = new Map<string, number>();
    for await (const blocks of blocksOf({ db }, table)) {
      for (const { text, ...owner } of await findSealedTexts(db, table, blocks)) {
        const kekId = echoKey(secretBox, owner, text);
        if (kekId !== null) ofTable.set(kekId, (ofTable.get(kekId) ?? 0) + 1);
      }
    }
    for (const [kekId, count] of ofTable) counts.push({ table, kekId, count });
  }
  return counts;
}

/** `kekId` is the first key of the ring; yields the number of rows after each batch. */
export async function* rotateTexts(
  { db, secretBox }: TextRotationDeps,
  { table, kekId }: { readonly table: SealedTextTableName; readonly kekId: string },
): AsyncGenerator<number> {
  for await (const blocks of blocksOf({ db }, table)) {
    const rows = await findOtherwiseSealed(db, table, { ...blocks, kekId });
    for (const ofOrg of Map.groupBy(rows, ({ orgId }) => orgId).values()) {
      for (let from = 0; from < ofOrg.length; from += rowsAtOnce) {
        yield await rewrapRows({ db, secretBox }, table, ofOrg.slice(from, from + rowsAtOnce));
      }
    }
  }
}

const rewrapRows = (
  { db, secretBox }: TextRotationDeps,
  table: SealedTextTableName,
  rows: readonly PlacedRow[],
): Promise<number> =>
  db.transaction().execute(async (tx) => {
    let changed = 0;
    for (const { orgId, place } of rows) {
      const scope = orgScope(orgId);
      const row = await lockRowTexts(tx, scope, { table, place });
      if (!row) continue;
      const owner = { orgId, connectionId: row.connectionId };
      const texts = changesOf(row.texts, (text) => rewrapEchoes(secretBox, owner, text));
      if (texts === null) continue;
      await putRowTexts(tx, scope, { table, place, texts });
      changed += 1;
    }
    return changed;
  });

/** `null` if none differs. */
function changesOf(texts: RowTexts, change: (text: string) => string): RowTexts | null {
  const changed = Object.entries(texts).flatMap(([column, text]): [string, string][] => {
    const now = text === null ? null : change(text);
    return now === null || now === text ? [] : [[column, now]];
  });
  return changed.length === 0 ? null : Object.fromEntries(changed);
}

async function* blocksOf({ db }: Pick<Deps, 'db'>, table: SealedTextTableName): AsyncGenerator<Blocks> {
  const count = await countBlocks(db, table);
  for (let from = 0; from < count; from += blocksAtOnce) yield { from, to: from + blocksAtOnce };
}

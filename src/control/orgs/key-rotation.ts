/**
 * Rewraps the data keys of sealed secrets, and of texts that repeat them, while the service runs. The values themselves are
 * not touched.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type SealedTextTableName, sealedTextTableNames } from '../../../db/queries/connections/sealed-texts.ts';
import {
  countSealed,
  findOtherwiseWrapped,
  lockOtherwiseWrapped,
  putWrappedKey,
  type SealedRow,
  type SealedRowKey,
  type SealedTableName,
  sealedTableNames,
} from '../../../db/queries/connections/sealed-values.ts';
import { orgScope } from '../../../db/scope.ts';
import type { SealedSecret, SecretBox } from '../../core/crypto/secret-box.ts';
import type { Deps } from '../../deps.ts';
import { countSealedTexts, rotateTexts, type SealedTextCount } from './text-rotation.ts';

/** A value that no key of the ring opens, or that was altered: it stays unchanged. */
export interface UnopenedValue {
  readonly table: SealedTableName;
  readonly orgId: string;
  /** The connection, OAuth app, endpoint secret or hook that it belongs to. */
  readonly owner: string;
  readonly reason: string;
}

type RotatedTable = SealedTableName | SealedTextTableName;

export interface Rotation {
  /** Rewrapped values, or rows with texts, by table. */
  readonly rewrapped: Readonly<Record<RotatedTable, number>>;
  readonly unopened: readonly UnopenedValue[];
  /** Values and texts still under other keys, `unopened` included; a later rotation may find them unlocked. */
  readonly left: number;
}

export interface RotationOptions {
  readonly kekId: string;
  readonly progress: (table: RotatedTable, rewrapped: number) => void;
}

type RotationDeps = Pick<Deps, 'db' | 'secretBox'>;

/** Rows of one batch; those of one org are locked together, for some ten milliseconds. */
const batchRows = 100;
/** Passes over values that another transaction holds, and milliseconds between two passes. */
const passesMax = 3;
const passPauseMs = 1000;

/**
 * Safe to repeat, and to kill at any moment: each batch is a transaction, and a ring with both keys opens each value before
 * and after it. A value that is replaced meanwhile is left to its writer.
 */
export async function rotateSealedValues(deps: RotationDeps, options: RotationOptions): Promise<Rotation> {
  const rewrapped: Record<RotatedTable, number> = {
    ...{ connectionSecrets: 0, tokens: 0, oauthStates: 0, pendingGrants: 0, oauthApps: 0 },
    ...{ webhookEndpointSecrets: 0, hooks: 0, connectSessions: 0 },
    ...{
      runs: 0,
      partitions: 0,
      runDimensions: 0,
      lookupCache: 0,
      recordState: 0,
      listedDeletions: 0,
      quarantine: 0,
      outboxes: 0,
    },
  };
  for (let pass = 1; ; pass += 1) {
    const unopened: UnopenedValue[] = [];
    for (const table of sealedTableNames) {
      for await (const batch of batches(deps, { ...options, table })) {
        rewrapped[table] += batch.rewrapped;
        unopened.push(...batch.unopened);
        options.progress(table, rewrapped[table]);
      }
    }
    for (const table of sealedTextTableNames) {
      for await (const count of rotateTexts(deps, { table, kekId: options.kekId })) {
        rewrapped[table] += count;
        options.progress(table, rewrapped[table]);
      }
    }
    const left = await countOthers(deps, options.kekId);
    if (left <= unopened.length || pass === passesMax) return { rewrapped, unopened, left };
    await sleep(passPauseMs);
  }
}

interface TableRotation extends RotationOptions {
  readonly table: SealedTableName;
}

interface Batch {
  readonly rewrapped: number;
  readonly unopened: readonly UnopenedValue[];
}

async function* batches(deps: RotationDeps, { table, kekId }: TableRotation): AsyncGenerator<Batch> {
  let after: SealedRowKey | null = null;
  for (;;) {
    const rows: readonly SealedRowKey[] = await findOtherwiseWrapped(deps.db, table, {
      kekId,
      after,
      limit: batchRows,
    });
    const ofOrgs = Map.groupBy(rows, ({ orgId }) => orgId).values();
    for (const ofOrg of ofOrgs) yield await rewrapRows(deps, { table, kekId, rows: ofOrg });
    after = rows.at(-1) ?? null;
    if (after === null) return;
  }
}

async function rewrapRows(
  { db, secretBox }: RotationDeps,
  { table, kekId, rows }: Pick<TableRotation, 'table' | 'kekId'> & { readonly rows: readonly SealedRowKey[] },
): Promise<Batch> {
  const unopened: UnopenedValue[] = [];
  let rewrapped = 0;
  await db.transaction().execute(async (tx) => {
    for (const row of rows) {
      const scope = orgScope(row.orgId);
      const found = await lockOtherwiseWrapped(tx, scope, { table, row, kekId });
      if (!found) continue;
      const sealed = rewrapOrReason(secretBox, found);
      if (typeof sealed === 'string') unopened.push({ table, orgId: row.orgId, owner: row.owner, reason: sealed });
      else if (await putWrappedKey(tx, scope, { table, row, sealed, replaces: found.sealed })) rewrapped += 1;
    }
  });
  return { rewrapped, unopened };
}

/** Returns the reason as text if it does not open. */
function rewrapOrReason(secretBox: SecretBox, { sealed, context }: SealedRow): SealedSecret | string {
  try {
    return secretBox.rewrap(sealed, context);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

async function countOthers(deps: RotationDeps, kekId: string): Promise<number> {
  const counts: readonly Pick<SealedTextCount, 'kekId' | 'count'>[] = [
    ...(await countSealed(deps.db)),
    ...(await countSealedTexts(deps)),
  ];
  return counts.filter((counted) => counted.kekId !== kekId).reduce((sum, { count }) => sum + count, 0);
}

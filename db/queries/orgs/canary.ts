import { sql } from 'kysely';
import type { SealedSecret } from '../../../src/core/crypto/secret-box.ts';
import type { Db } from '../../client.ts';
import { sealedColumns } from '../connections/sealed-columns.ts';

/** Adds a canary unless its key has one, or `check` throws at those that exist. Calls come one after the other. */
export async function addCanary(
  db: Db,
  sealed: SealedSecret,
  check: (known: readonly SealedSecret[]) => void,
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await sql`lock table secret_canary in share row exclusive mode`.execute(tx);
    check(await findCanaries(tx));
    await tx
      .insertInto('secretCanary')
      .values(sealedColumns(sealed))
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  });
}

export function findCanaries(db: Db): Promise<readonly SealedSecret[]> {
  return db
    .selectFrom('secretCanary')
    .select(['kekId', 'wrappedKey', 'nonce', 'ciphertext'])
    .orderBy('kekId')
    .execute();
}

export async function deleteCanaries(db: Db, kekIds: readonly string[]): Promise<void> {
  if (kekIds.length > 0) await db.deleteFrom('secretCanary').where('kekId', 'in', kekIds).execute();
}

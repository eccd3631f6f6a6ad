import type { SealedSecret } from '../../../src/core/crypto/secret-box.ts';
import type { Db } from '../../client.ts';
import { sealedColumns } from '../connections/sealed-columns.ts';

/** Stores the canary unless there is one, and reads the one that counts. It belongs to no org. */
export async function keepCanary(db: Db, sealed: SealedSecret): Promise<SealedSecret> {
  await db
    .insertInto('secretCanary')
    .values({ id: 1, ...sealedColumns(sealed) })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute();
  return db
    .selectFrom('secretCanary')
    .select(['kekId', 'wrappedKey', 'nonce', 'ciphertext'])
    .where('id', '=', 1)
    .executeTakeFirstOrThrow();
}

/** The canary; undefined: no process has made it yet. It belongs to no org. */
export function findCanary(db: Db): Promise<SealedSecret | undefined> {
  return db
    .selectFrom('secretCanary')
    .select(['kekId', 'wrappedKey', 'nonce', 'ciphertext'])
    .where('id', '=', 1)
    .executeTakeFirst();
}

/** Stores the canary as it is wrapped now, unless it was rewrapped meanwhile. */
export async function putCanaryKey(
  db: Db,
  { sealed, replaces }: { readonly sealed: SealedSecret; readonly replaces: SealedSecret },
): Promise<void> {
  await db
    .updateTable('secretCanary')
    .set({ kekId: sealed.kekId, wrappedKey: Buffer.from(sealed.wrappedKey) })
    .where('wrappedKey', '=', Buffer.from(replaces.wrappedKey))
    .execute();
}

import type { SealedSecret } from '../../../src/core/crypto/secret-box.ts';
import type { Db } from '../../client.ts';
import { sealedColumns } from '../connections/sealed-columns.ts';

/** An earlier canary stays, and is returned. */
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

/** `undefined` if no process has made the canary yet. */
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

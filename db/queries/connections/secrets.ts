import type { SealedSecret } from '../../../src/core/crypto/secret-box.ts';
import type { Db } from '../../client.ts';
import type { OrgScope } from '../../scope.ts';
import { sealedColumns } from './sealed-columns.ts';

interface SecretKey {
  readonly connectionId: string;
  /** The kind of secret, for example `params-secret`. */
  readonly kind: string;
}

/** Stores a sealed secret of a connection, in place of the one of the same kind. */
export async function putSecret(db: Db, scope: OrgScope, secret: SecretKey & SealedSecret): Promise<void> {
  const sealed = sealedColumns(secret);
  await db
    .insertInto('connectionSecrets')
    .values({ orgId: scope.orgId, connectionId: secret.connectionId, kind: secret.kind, ...sealed })
    .onConflict((conflict) =>
      conflict.columns(['connectionId', 'kind']).doUpdateSet({ ...sealed, updatedAt: new Date().toISOString() }),
    )
    .execute();
}

/** The sealed secret, or undefined when the connection has none of that kind. */
export function findSecret(db: Db, scope: OrgScope, key: SecretKey): Promise<SealedSecret | undefined> {
  return db
    .selectFrom('connectionSecrets')
    .select(['kekId', 'wrappedKey', 'nonce', 'ciphertext'])
    .where('orgId', '=', scope.orgId)
    .where('connectionId', '=', key.connectionId)
    .where('kind', '=', key.kind)
    .executeTakeFirst();
}

/**
 * Removes every secret of a connection, of all kinds, the tokens obtained with them, and authorizations in progress,
 * confirmed or not.
 */
export async function deleteSecrets(db: Db, scope: OrgScope, connectionId: string): Promise<void> {
  for (const table of ['connectionSecrets', 'tokens', 'oauthStates', 'pendingGrants'] as const) {
    await db.deleteFrom(table).where('orgId', '=', scope.orgId).where('connectionId', '=', connectionId).execute();
  }
}

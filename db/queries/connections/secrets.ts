import type { SealedSecret } from '../../../src/core/crypto/secret-box.ts';
import type { Db } from '../../client.ts';
import type { OrgScope } from '../../scope.ts';
import { sealedColumns } from './sealed-columns.ts';

interface SecretKey {
  readonly connectionId: string;
  readonly kind: string;
}

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

export function findSecret(db: Db, scope: OrgScope, key: SecretKey): Promise<SealedSecret | undefined> {
  return db
    .selectFrom('connectionSecrets')
    .select(['kekId', 'wrappedKey', 'nonce', 'ciphertext'])
    .where('orgId', '=', scope.orgId)
    .where('connectionId', '=', key.connectionId)
    .where('kind', '=', key.kind)
    .executeTakeFirst();
}

/** Removes all secrets of a connection, the tokens obtained with them, and authorizations in progress, confirmed or not. */
export async function deleteSecrets(db: Db, scope: OrgScope, connectionId: string): Promise<void> {
  for (const table of ['connectionSecrets', 'tokens', 'oauthStates', 'pendingGrants'] as const) {
    await db.deleteFrom(table).where('orgId', '=', scope.orgId).where('connectionId', '=', connectionId).execute();
  }
}

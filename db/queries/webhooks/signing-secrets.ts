import { sql } from 'kysely';
import type { SealedSecret } from '../../../src/core/crypto/secret-box.ts';
import type { SignatureScheme } from '../../../src/core/resources/webhook-endpoint.ts';
import type { Db } from '../../client.ts';
import { countRows } from '../../listing.ts';
import type { OrgScope } from '../../scope.ts';
import { sealedColumns } from '../connections/sealed-columns.ts';

export interface StoredSigningSecret extends SealedSecret {
  readonly id: string;
  readonly scheme: SignatureScheme;
}

export interface NewSigningSecret {
  readonly id: string;
  readonly endpointId: string;
  readonly scheme: SignatureScheme;
  readonly sealed: SealedSecret;
  /** Last four characters. */
  readonly hint: string;
  /** Public key of a `v1a` key pair; `null` for `v1`. */
  readonly publicKey: string | null;
}

/** Stores the current secret of a scheme of an endpoint, which must have none. */
export async function insertSigningSecret(
  tx: Db,
  scope: OrgScope,
  { sealed, ...secret }: NewSigningSecret,
): Promise<void> {
  await tx
    .insertInto('webhookEndpointSecrets')
    .values({ ...secret, ...sealedColumns(sealed), orgId: scope.orgId })
    .execute();
}

/** Secrets that sign now: of each scheme the current one first, then the others, youngest first. */
export function findSigningSecrets(db: Db, scope: OrgScope, endpointId: string): Promise<StoredSigningSecret[]> {
  return ofEndpoint(db, scope, endpointId)
    .select(['id', 'scheme', 'kekId', 'wrappedKey', 'nonce', 'ciphertext'])
    .orderBy('expiresAt', (order) => order.desc().nullsFirst())
    .orderBy('id', 'desc')
    .execute();
}

export const countSigningSecrets = (db: Db, scope: OrgScope, endpointId: string): Promise<number> =>
  countRows(ofEndpoint(db, scope, endpointId).where('scheme', '=', 'v1'));

const ofEndpoint = (db: Db, scope: OrgScope, endpointId: string) =>
  db
    .selectFrom('webhookEndpointSecrets')
    .where('orgId', '=', scope.orgId)
    .where('endpointId', '=', endpointId)
    .where((eb) => eb.or([eb('expiresAt', 'is', null), eb('expiresAt', '>', sql<string>`now()`)]));

/** The current secrets of every scheme sign a while longer; returns until when. */
export async function retireSigningSecrets(
  tx: Db,
  scope: OrgScope,
  { endpointId, overlapSeconds }: { readonly endpointId: string; readonly overlapSeconds: number },
): Promise<string> {
  const { expiresAt } = await tx
    .selectNoFrom(sql<string>`now() + make_interval(secs => ${overlapSeconds})`.as('expiresAt'))
    .executeTakeFirstOrThrow();
  await tx
    .updateTable('webhookEndpointSecrets')
    .set({ expiresAt })
    .where('orgId', '=', scope.orgId)
    .where('endpointId', '=', endpointId)
    .where('expiresAt', 'is', null)
    .execute();
  await tx
    .deleteFrom('webhookEndpointSecrets')
    .where('orgId', '=', scope.orgId)
    .where('endpointId', '=', endpointId)
    .where('expiresAt', '<=', sql<string>`now()`)
    .execute();
  return expiresAt;
}

export async function purgeSigningSecrets(db: Db): Promise<void> {
  await sql`
    delete from webhook_endpoint_secrets where ctid in (
      select ctid from webhook_endpoint_secrets where expires_at <= now() limit 1000 for update skip locked)`.execute(
    db,
  );
}

/** `scheme` is `null` for all. */
export async function deleteSigningSecrets(
  tx: Db,
  scope: OrgScope,
  { endpointId, scheme }: { readonly endpointId: string; readonly scheme: SignatureScheme | null },
): Promise<void> {
  const ofAll = tx
    .deleteFrom('webhookEndpointSecrets')
    .where('orgId', '=', scope.orgId)
    .where('endpointId', '=', endpointId);
  await (scheme === null ? ofAll : ofAll.where('scheme', '=', scheme)).execute();
}

import { sql } from 'kysely';
import type { SealedSecret } from '../../../src/core/crypto/secret-box.ts';
import type { Db } from '../../client.ts';
import type { OrgScope } from '../../scope.ts';
import { sealedColumns, sealedOf } from './sealed-columns.ts';

export interface OauthState {
  readonly stateHash: Buffer;
  readonly connectionId: string;
  readonly redirectUri: string;
  /** Origin of the page that the customer was sent to. */
  readonly issuer: string;
  /** `null` without PKCE. */
  readonly verifier: SealedSecret | null;
  /** Where the customer is sent before the grant is confirmed; `null` if the callback itself stores it. */
  readonly returnUrl: string | null;
  /** The connect session that it belongs to, whose browser alone may finish it; `null` if the org began it itself. */
  readonly session: { readonly id: string; readonly browserHash: Buffer } | null;
}

export async function insertOauthState(
  db: Db,
  scope: OrgScope,
  { verifier, ttlSeconds, session, ...state }: OauthState & { readonly ttlSeconds: number },
): Promise<void> {
  const expiresAt = sql<string>`now() + make_interval(secs => ${ttlSeconds})`;
  const sealed = verifier === null ? {} : sealedColumns(verifier);
  await db
    .insertInto('oauthStates')
    .values({
      ...state,
      ...sealed,
      sessionId: session?.id ?? null,
      browserHash: session?.browserHash ?? null,
      orgId: scope.orgId,
      expiresAt,
    })
    .execute();
}

/** Deletes the authorization, which has one use. Takes no scope: like a credential, it is what a scope is made from. */
export async function takeOauthState(
  db: Db,
  stateHash: Buffer,
  { returnsOnly = false }: { readonly returnsOnly?: boolean } = {},
): Promise<(OauthState & { readonly orgId: string }) | undefined> {
  const row = await db
    .deleteFrom('oauthStates')
    .where('stateHash', '=', stateHash)
    .where('expiresAt', '>', sql<string>`now()`)
    .$if(returnsOnly, (taken) =>
      taken.where((eb) => eb.or([eb('returnUrl', 'is not', null), eb('sessionId', 'is not', null)])),
    )
    .returning(['orgId', 'connectionId', 'redirectUri', 'issuer', 'returnUrl', 'sessionId', 'browserHash'])
    .returning(['kekId', 'wrappedKey', 'nonce', 'ciphertext'])
    .executeTakeFirst();
  if (!row) return undefined;
  const { kekId, wrappedKey, nonce, ciphertext, sessionId, browserHash, ...begun } = row;
  const session = sessionId === null || browserHash === null ? null : { id: sessionId, browserHash };
  return { ...begun, session, stateHash, verifier: sealedOf({ kekId, wrappedKey, nonce, ciphertext }) };
}

export async function purgeOauthStates(db: Db): Promise<void> {
  await sql`
    delete from oauth_states where ctid in (
      select ctid from oauth_states where expires_at < now() limit 1000 for update skip locked)`.execute(db);
}

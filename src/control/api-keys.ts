import { insertApiKey, type KeyGrant, revokeApiKey } from '../../db/queries/api-keys.ts';
import type { OrgScope } from '../../db/scope.ts';
import { makeApiKey } from '../core/crypto/api-key.ts';
import { notFound } from '../core/errors.ts';
import type { ApiKeyRow } from '../core/rows.ts';
import type { Deps } from '../deps.ts';

/** A key at the one moment at which it is known. */
export interface IssuedApiKey {
  readonly id: string;
  /** Shown once; only its hash is stored. */
  readonly key: string;
}

/** A key of the scope's org and workspace. What it may do is decided by the caller of this function, not by a body. */
export async function issueApiKey({ db }: Pick<Deps, 'db'>, scope: OrgScope, grant: KeyGrant): Promise<IssuedApiKey> {
  const { key, ...stored } = makeApiKey();
  const { id } = await insertApiKey(db, scope, { ...stored, ...grant });
  return { id, key };
}

/** Refuses the key from the next request on; a key revoked earlier is returned unchanged. Throws not_found. */
export async function withdrawApiKey({ db }: Pick<Deps, 'db'>, scope: OrgScope, id: string): Promise<ApiKeyRow> {
  const revoked = await revokeApiKey(db, scope, id);
  if (!revoked) throw notFound('API key');
  return revoked;
}

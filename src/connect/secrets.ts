import * as v from 'valibot';
import type { Db } from '../../db/client.ts';
import { findSecret } from '../../db/queries/connections/secrets.ts';
import type { OrgScope } from '../../db/scope.ts';
import type { SealedSecret, SecretContext } from '../core/crypto/secret-box.ts';
import { JsonObject } from '../core/json/json-object.ts';
import type { Deps } from '../deps.ts';

export const paramsSecretKind = 'params-secret';

/** `{}` if the connection has none; throws when the key ring does not open them. */
export async function openSecrets(
  { secretBox }: Pick<Deps, 'secretBox'>,
  db: Db,
  scope: OrgScope,
  connectionId: string,
): Promise<JsonObject> {
  const sealed = await findSecret(db, scope, { connectionId, kind: paramsSecretKind });
  return openSealed(secretBox, sealed ?? null, { orgId: scope.orgId, ownerId: connectionId });
}

export function openSealed(
  secretBox: Deps['secretBox'],
  sealed: SealedSecret | null,
  owner: Omit<SecretContext, 'kind'>,
): JsonObject {
  if (!sealed) return {};
  return v.parse(JsonObject, JSON.parse(secretBox.open(sealed, { ...owner, kind: paramsSecretKind })));
}

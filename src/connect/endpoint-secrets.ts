import type { Db } from '../../db/client.ts';
import { findSigningSecrets } from '../../db/queries/webhooks/signing-secrets.ts';
import type { OrgScope } from '../../db/scope.ts';
import type { SecretContext } from '../core/crypto/secret-box.ts';
import { found } from '../core/errors.ts';
import type { SignatureScheme } from '../core/resources/webhook-endpoint.ts';
import type { Deps } from '../deps.ts';

export interface SigningSecrets {
  /** The row of the current `v1` secret. */
  readonly secretId: string;
  /** `whsec_…`, the current one first, then previous ones that still sign. */
  readonly v1: readonly string[];
  /** `whsk_…`, likewise; empty if the scheme is not enabled. */
  readonly v1a: readonly string[];
}

/** Each row has its own sealing context. */
export const signingContext = (orgId: string, secretId: string): SecretContext => ({
  orgId,
  ownerId: secretId,
  kind: 'webhook-secret',
});

/** Throws not_found when the endpoint is absent or deleted, and an error when the key ring does not open its secrets. */
export async function openSigningSecrets(
  { secretBox }: Pick<Deps, 'secretBox'>,
  db: Db,
  scope: OrgScope,
  endpointId: string,
): Promise<SigningSecrets> {
  const stored = await findSigningSecrets(db, scope, endpointId);
  const current = found(
    stored.find(({ scheme }) => scheme === 'v1'),
    'Webhook endpoint',
  );
  const open = (wanted: SignatureScheme): readonly string[] =>
    stored
      .filter(({ scheme }) => scheme === wanted)
      .map((secret) => secretBox.open(secret, signingContext(scope.orgId, secret.id)));
  return { secretId: current.id, v1: open('v1'), v1a: open('v1a') };
}

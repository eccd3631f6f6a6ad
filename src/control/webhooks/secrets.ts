import type { Db } from '../../../db/client.ts';
import { lockEndpoint } from '../../../db/queries/webhooks/endpoints.ts';
import {
  countSigningSecrets,
  insertSigningSecret,
  retireSigningSecrets,
} from '../../../db/queries/webhooks/signing-secrets.ts';
import type { OrgScope } from '../../../db/scope.ts';
import { signingContext } from '../../connect/endpoint-secrets.ts';
import { makeSigningKeyPair } from '../../core/crypto/signing-key-pair.ts';
import { makeSigningSecret, signingSecretIssue } from '../../core/crypto/signing-secret.ts';
import { conflict, found, invalid, schemaIssue } from '../../core/errors.ts';
import { newId } from '../../core/ids.ts';
import type { SignatureScheme } from '../../core/resources/webhook-endpoint.ts';
import type { Deps } from '../../deps.ts';
import { type WriteDeps, write } from '../orgs/write.ts';

type SecretDeps = Pick<Deps, 'secretBox'>;

/** The new signing secrets. */
interface NewSecrets {
  readonly endpointId: string;
  readonly schemes: readonly SignatureScheme[];
  /** The secret of `v1`; null: one is made. */
  readonly secret: string | null;
}

/** Stores the current secrets of an endpoint. What was made is returned: the only time that it is seen; null: nothing. */
export async function giveSecrets(
  deps: SecretDeps,
  tx: Db,
  scope: OrgScope,
  { endpointId, schemes, secret }: NewSecrets,
): Promise<string | null> {
  const made = secret === null ? makeSigningSecret() : null;
  await storeSecret(deps, tx, scope, { endpointId, scheme: 'v1', text: secret ?? made ?? '', publicKey: null });
  if (schemes.includes('v1a')) await giveKeyPair(deps, tx, scope, endpointId);
  return made;
}

/** Makes and stores the current `v1a` key pair of an endpoint; its private key never leaves. */
export async function giveKeyPair(deps: SecretDeps, tx: Db, scope: OrgScope, endpointId: string): Promise<void> {
  const { privateKey, publicKey } = makeSigningKeyPair();
  await storeSecret(deps, tx, scope, { endpointId, scheme: 'v1a', text: privateKey, publicKey });
}

async function storeSecret(
  { secretBox }: SecretDeps,
  tx: Db,
  scope: OrgScope,
  {
    text,
    ...secret
  }: {
    readonly endpointId: string;
    readonly scheme: SignatureScheme;
    readonly text: string;
    readonly publicKey: string | null;
  },
): Promise<void> {
  const id = newId('whs');
  const sealed = secretBox.seal(text, signingContext(scope.orgId, id));
  await insertSigningSecret(tx, scope, { ...secret, id, sealed, hint: text.slice(-4) });
}

/** Throws validation when a secret that a caller brings is not of the form of Standard Webhooks; null: none is brought. */
export function refuseBadSecret(secret: string | null): void {
  const message = secret === null ? null : signingSecretIssue(secret);
  if (message !== null) throw invalid('The secret is not valid.', [schemaIssue('secret', message)]);
}

/** How a secret is replaced. */
export interface Rotation {
  readonly endpointId: string;
  /** The new secret; null: one is made. */
  readonly secret: string | null;
  /** How long the previous one continues to sign; 0: not at all. */
  readonly overlapSeconds: number;
}

/** The outcome of a rotation. */
export interface RotatedSecret {
  readonly id: string;
  /** The new secret, only when it was made here; shown once. */
  readonly secret?: string;
  /** ISO 8601: the secret before it signs until then. */
  readonly previousExpiresAt: string;
}

const secretsMax = 3;

/**
 * Replaces the secret of an endpoint, and its key pair. Throws not_found, validation (secret), conflict (three secrets
 * sign already).
 */
export async function rotateSecret(
  deps: SecretDeps & WriteDeps,
  scope: OrgScope,
  { endpointId, secret, overlapSeconds }: Rotation,
): Promise<RotatedSecret> {
  return write(deps, async (tx) => {
    const endpoint = found(await lockEndpoint(tx, scope, endpointId), 'Webhook endpoint');
    refuseBadSecret(secret);
    if (overlapSeconds > 0 && (await countSigningSecrets(tx, scope, endpointId)) >= secretsMax) throw tooManySecrets();
    const previousExpiresAt = await retireSigningSecrets(tx, scope, { endpointId, overlapSeconds });
    const schemes = endpoint.signatureSchemes;
    const made = await giveSecrets(deps, tx, scope, { endpointId, schemes, secret });
    return { id: endpointId, ...(made === null ? {} : { secret: made }), previousExpiresAt };
  });
}

const tooManySecrets = () =>
  conflict(
    `This endpoint already signs with ${secretsMax} secrets: wait until one has expired, or rotate with overlapSeconds 0.`,
  );

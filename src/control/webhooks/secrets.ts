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

interface NewSecrets {
  readonly endpointId: string;
  readonly schemes: readonly SignatureScheme[];
  /** The secret of `v1`, generated if `null`. */
  readonly secret: string | null;
}

/** Returns the generated secret, which is never shown again, or `null`. */
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

/** The private key never leaves. */
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

/** Throws validation when a caller's secret does not have the form of Standard Webhooks. */
export function refuseBadSecret(secret: string | null): void {
  const message = secret === null ? null : signingSecretIssue(secret);
  if (message !== null) throw invalid('The secret is not valid.', [schemaIssue('secret', message)]);
}

export interface Rotation {
  readonly endpointId: string;
  /** Generated if `null`. */
  readonly secret: string | null;
  /** Seconds that the previous secret continues to sign; 0 for none. */
  readonly overlapSeconds: number;
}

export interface RotatedSecret {
  readonly id: string;
  /** Shown once, and only if it was generated here. */
  readonly secret?: string;
  /** ISO 8601 time until which the previous secret signs. */
  readonly previousExpiresAt: string;
}

const secretsMax = 3;

/** Throws not_found, validation (secret), conflict (three secrets sign already). */
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

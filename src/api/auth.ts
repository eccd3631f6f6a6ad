import type { Db } from '../../db/client.ts';
import type { KeyGrant } from '../../db/queries/orgs/api-keys.ts';
import { type Credential, touchCredential } from '../../db/queries/orgs/credentials.ts';
import { type OrgScope, orgScope } from '../../db/scope.ts';
import { isApiKey, parseApiKey } from '../core/crypto/api-key.ts';
import { AppError } from '../core/errors.ts';
import type { Log } from '../log.ts';

export interface Caller {
  readonly scope: OrgScope;
  readonly keyId: string;
  /** Inherited by the keys that this key creates. */
  readonly grant: KeyGrant;
}

export interface AuthDeps {
  readonly db: Db;
  readonly log: Log;
  /** Finds a credential. Must not return a result from before the call: a revoked key would be accepted once more. */
  readonly findCredential: (lookupId: string) => Promise<Credential | undefined>;
}

/**
 * The caller behind `Authorization: Bearer …` or `x-api-key`, with the {@link OrgScope} of the key's row.
 * All files that make a scope are in test/support/security/scope-makers.ts, each with its reason.
 * Throws `unauthorized`. The error names revocation or expiry only if the whole key was right.
 */
export async function authenticate(deps: AuthDeps, headers: Headers): Promise<Caller> {
  const key = keyOf(headers);
  const credential = key === null ? null : await credentialWith(deps, key);
  if (!credential) throw unauthorized();
  const caller = callerOf(deps, credential);
  if (!caller) throw ended(credential);
  return caller;
}

/** `null` when the key is malformed, unknown, revoked or expired. */
export async function callerWithKey(deps: AuthDeps, key: string): Promise<Caller | null> {
  const credential = await credentialWith(deps, key);
  return credential && callerOf(deps, credential);
}

/** Also finds revoked and expired keys; `null` when the key is malformed or unknown. */
async function credentialWith(deps: AuthDeps, key: string): Promise<Credential | null> {
  const lookupId = parseApiKey(key);
  if (lookupId === null) return null;
  const credential = await deps.findCredential(lookupId);
  const known = isApiKey(key, credential?.keyHash ?? null);
  return credential && known ? credential : null;
}

/**
 * The caller by the lookup id in a signed session, whose key was verified before. `null` when the key was revoked or
 * has expired since.
 */
export async function callerOfSession(deps: AuthDeps, lookupId: string): Promise<Caller | null> {
  const credential = await deps.findCredential(lookupId);
  return credential ? callerOf(deps, credential) : null;
}

/** Throws `unauthorized` when the key of a session was revoked or has expired since the request began. */
export async function requireValidKey({ findCredential }: AuthDeps, lookupId: string): Promise<void> {
  const credential = await findCredential(lookupId);
  if (!credential) throw unauthorized();
  if (isOver(credential)) throw ended(credential);
}

function callerOf(deps: AuthDeps, credential: Credential): Caller | null {
  if (isOver(credential)) return null;
  noteUse(deps, credential);
  const { id, orgId, workspaceId, scopes, expiresAt } = credential;
  return { scope: orgScope(orgId), keyId: id, grant: { workspaceId, scopes, expiresAt, createdByKeyId: id } };
}

const unauthorized = (): AppError =>
  new AppError(
    'unauthorized',
    'A valid API key is required: send it as "Authorization: Bearer ck_…" or in the header x-api-key.',
  );

const ended = ({ revokedAt, expiresAt }: Credential): AppError =>
  new AppError(
    'unauthorized',
    `This API key ${revokedAt === null ? `expired at ${expiresAt ?? ''}` : 'was revoked'}: create another one with a key that is valid, or ask the operator for one.`,
  );

/** `null` when the headers carry no key, or two that differ. */
function keyOf(headers: Headers): string | null {
  const authorization = headers.get('authorization');
  const apiKey = headers.get('x-api-key');
  if (authorization === null) return apiKey;
  const bearer = /^Bearer +(?<key>\S+)$/i.exec(authorization)?.groups?.['key'] ?? null;
  return apiKey === null || apiKey === bearer ? bearer : null;
}

const isOver = ({ revokedAt, expiresAt }: Credential): boolean =>
  revokedAt !== null || (expiresAt !== null && Date.parse(expiresAt) <= Date.now());

/** Keys whose use is being recorded: requests at once have all read the same time of the last use. */
const touched = new Set<string>();

/** Records the use of a key at most once a minute, without waiting for it. */
function noteUse({ db, log }: Pick<AuthDeps, 'db' | 'log'>, { id, lastUsedAt }: Credential): void {
  if (touched.has(id) || (lastUsedAt !== null && Date.parse(lastUsedAt) > Date.now() - 60_000)) return;
  touched.add(id);
  touchCredential(db, id)
    .catch((error: unknown) => log.warn('use of an API key not recorded', { keyId: id, error }))
    .finally(() => touched.delete(id));
}

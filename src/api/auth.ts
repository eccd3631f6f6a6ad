import type { Db } from '../../db/client.ts';
import { type Credential, touchCredential } from '../../db/queries/orgs/credentials.ts';
import { type OrgScope, orgScope } from '../../db/scope.ts';
import { isApiKey, parseApiKey } from '../core/crypto/api-key.ts';
import { AppError } from '../core/errors.ts';
import type { Log } from '../log.ts';

/** The caller of a request. */
export interface Caller {
  readonly scope: OrgScope;
  readonly keyId: string;
  /** The permissions of the key; a key made by it gets at most these. */
  readonly keyScopes: readonly string[];
  /** Null: it does not expire. A key made by it lives no longer. */
  readonly keyExpiresAt: string | null;
}

interface AuthDeps {
  readonly db: Db;
  readonly log: Log;
  /** Never returns a result from before the call, or a revoked key would be accepted once more. */
  readonly findCredential: (lookupId: string) => Promise<Credential | undefined>;
}

/**
 * The caller behind `Authorization: Bearer …` or `x-api-key`, the only maker of an {@link OrgScope} for a request.
 * Throws `unauthorized`, with one text for every reason, so that nothing can be learned from it.
 */
export async function authenticate({ db, log, findCredential }: AuthDeps, headers: Headers): Promise<Caller> {
  const key = keyOf(headers);
  const lookupId = key === null ? null : parseApiKey(key);
  if (key === null || lookupId === null) throw unauthorized();
  const credential = await findCredential(lookupId);
  const known = isApiKey(key, credential?.keyHash ?? null);
  if (!credential || !known || isOver(credential)) throw unauthorized();
  noteUse({ db, log }, credential);
  return {
    scope: orgScope(credential.orgId, credential.workspaceId),
    keyId: credential.id,
    keyScopes: credential.scopes,
    keyExpiresAt: credential.expiresAt,
  };
}

const unauthorized = (): AppError =>
  new AppError(
    'unauthorized',
    'A valid API key is required: send it as "Authorization: Bearer ck_…" or in the header x-api-key.',
  );

/** The one key the headers carry; null when there is none, or two that differ. */
function keyOf(headers: Headers): string | null {
  const authorization = headers.get('authorization');
  const apiKey = headers.get('x-api-key');
  if (authorization === null) return apiKey;
  const bearer = /^Bearer +(?<key>\S+)$/i.exec(authorization)?.groups?.['key'] ?? null;
  return apiKey === null || apiKey === bearer ? bearer : null;
}

const isOver = ({ revokedAt, expiresAt }: Credential): boolean =>
  revokedAt !== null || (expiresAt !== null && Date.parse(expiresAt) <= Date.now());

/** At most once a minute per key, without waiting for it. */
function noteUse({ db, log }: Pick<AuthDeps, 'db' | 'log'>, { id, lastUsedAt }: Credential): void {
  if (lastUsedAt !== null && Date.parse(lastUsedAt) > Date.now() - 60_000) return;
  touchCredential(db, id).catch((error: unknown) => log.warn('use of an API key not recorded', { keyId: id, error }));
}

import { randomBytes } from 'node:crypto';
import type { Db } from '../../../db/client.ts';
import { findConnectSession, insertConnectSession } from '../../../db/queries/connect-sessions/sessions.ts';
import { insertOauthState } from '../../../db/queries/connections/oauth-states.ts';
import { findPendingGrants, putPendingGrant } from '../../../db/queries/connections/pending-grants.ts';
import { sealedOf } from '../../../db/queries/connections/sealed-columns.ts';
import { putSecret } from '../../../db/queries/connections/secrets.ts';
import { findToken, replaceToken } from '../../../db/queries/connections/tokens.ts';
import { findHooksByToken, insertHook } from '../../../db/queries/hooks/hooks.ts';
import { insertOauthApp } from '../../../db/queries/orgs/oauth-apps.ts';
import { insertSigningSecret } from '../../../db/queries/webhooks/signing-secrets.ts';
import { orgScope } from '../../../db/scope.ts';
import { openSigningSecrets, signingContext } from '../../../src/connect/endpoint-secrets.ts';
import { appContext } from '../../../src/connect/oauth-apps.ts';
import { openSecrets, paramsSecretKind } from '../../../src/connect/secrets.ts';
import { openHeld, sealHeld } from '../../../src/control/connect-sessions/held.ts';
import { openHookSecret } from '../../../src/control/hooks/hooks.ts';
import type { SecretBox } from '../../../src/core/crypto/secret-box.ts';
import { newId } from '../../../src/core/ids.ts';
import { openToken, sealToken } from '../../../src/core/source/auth/sealed-token.ts';

/** A connection with a sealed value in every table that has any. */
export interface Planted {
  readonly orgId: string;
  readonly connectionId: string;
  readonly endpointId: string;
  readonly appId: string;
  readonly hookToken: Buffer;
  readonly stateHash: Buffer;
  readonly sessionId: string;
}

/** Seals one value in each table; each text names its kind and its connection. */
export async function plantSealedValues(
  db: Db,
  box: SecretBox,
  { orgId, connectionId }: Pick<Planted, 'orgId' | 'connectionId'>,
): Promise<Planted> {
  const scope = orgScope(orgId);
  const owner = { orgId, ownerId: connectionId };
  const [endpointId, secretId, hookId] = [newId('whe'), newId('whs'), newId('hook')];
  const appId = newId('oap');
  const [hookToken, stateHash] = [randomBytes(32), randomBytes(32)];
  const params = box.seal(JSON.stringify({ value: `params of ${connectionId}` }), { ...owner, kind: paramsSecretKind });
  await putSecret(db, scope, { connectionId, kind: paramsSecretKind, ...params });
  await putTestToken(db, box, { orgId, connectionId, accessToken: `token of ${connectionId}` });
  await insertOauthState(db, scope, {
    stateHash,
    connectionId,
    redirectUri: '',
    issuer: '',
    returnUrl: null,
    session: null,
    verifier: box.seal(`verifier of ${connectionId}`, { ...owner, kind: 'oauth-verifier' }),
    ttlSeconds: 600,
  });
  const grant = { ...testToken, accessToken: `grant of ${connectionId}` };
  await putPendingGrant(db, scope, {
    connectionId,
    slot: '',
    codeFingerprint: '',
    newAccount: false,
    sessionId: null,
    sealed: sealToken(box, grant, owner, 'pending-grant'),
    ttlSeconds: 600,
  });
  await db
    .insertInto('webhookEndpoints')
    .values({ id: endpointId, orgId, url: '', maxInFlight: 1, timeoutMs: 1, ordering: 'any', signatureSchemes: ['v1'] })
    .execute();
  const signing = box.seal(`signing of ${connectionId}`, signingContext(orgId, secretId));
  const row = { id: secretId, endpointId, scheme: 'v1', sealed: signing, hint: '', publicKey: null } as const;
  await insertSigningSecret(db, scope, row);
  await insertOauthApp(db, scope, {
    id: appId,
    key: appId,
    workspaceKind: null,
    clientId: '',
    sealed: box.seal(`app of ${connectionId}`, appContext(orgId, appId)),
  });
  await insertHook(db, scope, {
    id: hookId,
    connectionId,
    resourceKeys: ['items'],
    verification: { kind: 'github' },
    dedupe: null,
    debounceSeconds: 0,
    maxWaitSeconds: 0,
    tokenHash: hookToken,
    secret: box.seal(`hook of ${connectionId}`, { orgId, ownerId: hookId, kind: 'upstream-webhook' }),
  });
  const sessionId = newId('cse');
  const held = {
    fixed: null,
    entered: { params: { value: `session of ${connectionId}` }, secrets: {} },
    codes: {},
    proofs: {},
    isMoved: false,
  };
  await insertConnectSession(db, scope, {
    ...{ id: sessionId, tokenHash: randomBytes(32), step: 'values', connectionId, ttlSeconds: 600 },
    ...{ workspaceId: null, specId: null, specVersion: null, specKey: 'acme', specOverridesJson: null },
    ...{
      displayName: '',
      externalCustomerId: null,
      askedParams: [],
      authorizes: false,
      newAccount: false,
      fromEmbed: false,
    },
    ...{ resourceKeys: [], schedulesJson: [], returnUrl: null, allowedOrigins: [] },
    sealed: sealHeld(box, scope, sessionId, held),
  });
  return { orgId, connectionId, endpointId, appId, hookToken, stateHash, sessionId };
}

/** The eight values, opened as the service opens them; a value that does not open is its error. */
export async function openPlanted(db: Db, secretBox: SecretBox, planted: Planted): Promise<readonly string[]> {
  const { orgId, connectionId, endpointId, appId, hookToken, stateHash, sessionId } = planted;
  const scope = orgScope(orgId);
  const owner = { orgId, ownerId: connectionId };
  const state = db.selectFrom('oauthStates').select(['kekId', 'wrappedKey', 'nonce', 'ciphertext']);
  const opened: readonly Promise<unknown>[] = [
    openSecrets({ secretBox }, db, scope, connectionId).then(({ value }) => value),
    findToken(db, scope, { connectionId, slot: '' }).then((token) =>
      token ? openToken(secretBox, token, owner).accessToken : 'none',
    ),
    state
      .where('stateHash', '=', stateHash)
      .executeTakeFirstOrThrow()
      .then((row) => {
        const verifier = sealedOf(row);
        return verifier && secretBox.open(verifier, { ...owner, kind: 'oauth-verifier' });
      }),
    findPendingGrants(db, scope, connectionId).then(([grant]) =>
      grant?.sealed ? openToken(secretBox, grant.sealed, owner, 'pending-grant').accessToken : 'none',
    ),
    db
      .selectFrom('oauthApps')
      .select(['kekId', 'wrappedKey', 'nonce', 'ciphertext'])
      .where('id', '=', appId)
      .executeTakeFirstOrThrow()
      .then((row) => {
        const app = sealedOf(row);
        return app && secretBox.open(app, appContext(orgId, appId));
      }),
    openSigningSecrets({ secretBox }, db, scope, endpointId).then(({ v1 }) => v1[0]),
    findHooksByToken(db, [hookToken]).then(([hook]) => hook && openHookSecret({ secretBox }, scope, hook)),
    findConnectSession(db, scope, sessionId).then(
      (session) => session && openHeld(secretBox, scope, session).entered?.params['value'],
    ),
  ];
  const results = await Promise.allSettled(opened);
  return results.map((result) => (result.status === 'fulfilled' ? String(result.value) : String(result.reason)));
}

/** What {@link openPlanted} gives when everything opens. */
export const plantedTexts = ({ connectionId }: Pick<Planted, 'connectionId'>): readonly string[] =>
  ['params', 'token', 'verifier', 'grant', 'app', 'signing', 'hook', 'session'].map(
    (kind) => `${kind} of ${connectionId}`,
  );

/** Puts a token in place of the one of the connection, as a refresh does. */
export async function putTestToken(
  db: Db,
  box: SecretBox,
  { orgId, connectionId, accessToken, slot = '' }: TestToken,
): Promise<void> {
  const sealed = sealToken(box, { ...testToken, accessToken }, { orgId, ownerId: connectionId });
  await replaceToken(db, orgScope(orgId), { connectionId, slot, sealed });
}

const testToken = { expiresAtMs: null, obtainedAtMs: 0, refreshToken: null, metadata: {}, madeFor: '' };

interface TestToken extends Pick<Planted, 'orgId' | 'connectionId'> {
  readonly accessToken: string;
  readonly slot?: string;
}

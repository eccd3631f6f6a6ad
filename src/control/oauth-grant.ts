import { findConnection } from '../../db/queries/connections.ts';
import { findPinnedSpec } from '../../db/queries/specs.ts';
import type { OrgScope } from '../../db/scope.ts';
import { openSecrets } from '../connect/secrets.ts';
import { AppError, conflict, notFound } from '../core/errors.ts';
import { ThrottledError } from '../core/http/client.ts';
import { leafTexts } from '../core/source/auth.ts';
import { authValues } from '../core/source/auth-values.ts';
import type { TokenRequestContext } from '../core/source/oauth-token.ts';
import { createTokenClient } from '../core/source/token-client.ts';
import type { OauthAuthorizationCode } from '../core/spec/auth-schema.ts';
import { effectiveSpec } from '../core/spec/effective.ts';
import type { ConnectorSpec } from '../core/spec/schema.ts';
import type { Deps } from '../deps.ts';
import { checkValues } from './connection-values.ts';

/** What asking a provider about a grant works with. */
export type GrantDeps = Pick<Deps, 'db' | 'log' | 'secretBox' | 'egress' | 'evaluator'>;

/** A connection that its customer authorises, and a client that talks to its provider. Disposing closes the client. */
export interface Grant extends AsyncDisposable {
  readonly auth: OauthAuthorizationCode;
  readonly context: TokenRequestContext;
}

/** Throws not_found, conflict (another auth kind, or spec and values do not fit together any more). */
export async function openGrant(deps: GrantDeps, scope: OrgScope, connectionId: string): Promise<Grant> {
  const { spec, params, secrets } = await loadSettings(deps, scope, connectionId);
  const { auth } = spec;
  if (auth.kind !== 'oauth2_authorization_code') {
    throw conflict(`The auth of this connection is ${auth.kind}: there is nothing to authorise at a provider.`);
  }
  const client = createTokenClient({
    egress: deps.egress,
    secrets: leafTexts(secrets),
    logCall: ({ statusCode, durationMs, attempt, errorCode }) =>
      deps.log.info('token endpoint called', { connectionId, statusCode, durationMs, attempt, errorCode }),
  });
  const now = () => new Date();
  // Outside a run, what templates may say about one is empty.
  const run = { id: '', startedAt: now().toISOString(), mode: '' };
  const { evaluator } = deps;
  const values = authValues({ params, secrets, run, evaluator, mask: client.addSecret });
  return {
    auth,
    context: { client, values, now },
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  };
}

interface Settings {
  readonly spec: ConnectorSpec;
  readonly params: Readonly<Record<string, unknown>>;
  readonly secrets: Readonly<Record<string, unknown>>;
}

async function loadSettings(deps: GrantDeps, scope: OrgScope, connectionId: string): Promise<Settings> {
  const connection = await findConnection(deps.db, scope, connectionId);
  if (!connection) throw notFound('Connection');
  const pinned = await findPinnedSpec(deps.db, scope, connectionId);
  if (!pinned) throw notFound('Pinned spec version');
  const judged = effectiveSpec(pinned.specJson, connection.specOverridesJson);
  if (!judged.valid) {
    throw conflict(
      `The effective spec is invalid (${judged.issues[0]?.message ?? 'no detail'}); correct the overrides`,
    );
  }
  const secrets = await openSecrets(deps, deps.db, scope, connectionId);
  const values = checkValues(deps, judged.spec, { params: connection.paramsJson, secrets });
  if (!values.ok) {
    const [issue] = values.issues;
    throw conflict(`The connection's values do not fit its spec: ${issue?.path ?? ''} ${issue?.message ?? ''}`);
  }
  return { spec: judged.spec, params: values.params, secrets: values.secrets };
}

/** What `ask` brings. Throws conflict where it fails: the provider, or how the connection describes it, is at fault. */
export async function orConflict<Result>(ask: () => Promise<Result>): Promise<Result> {
  try {
    return await ask();
  } catch (cause) {
    if (!(cause instanceof AppError) && !(cause instanceof ThrottledError)) throw cause;
    const message = `${cause.message} After that, start the authorization again.`;
    throw new AppError('conflict', message, { cause });
  }
}

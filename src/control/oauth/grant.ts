import type { Db } from '../../../db/client.ts';
import { findConnection } from '../../../db/queries/connections/connections.ts';
import { findToken } from '../../../db/queries/connections/tokens.ts';
import { findPinnedSpec } from '../../../db/queries/specs.ts';
import type { OrgScope } from '../../../db/scope.ts';
import { appsOf, withAppSecrets } from '../../connect/oauth-apps.ts';
import { openSecrets } from '../../connect/secrets.ts';
import { secretTexts } from '../../connect/setup.ts';
import { tokenSlot } from '../../connect/token-store.ts';
import { AppError, conflict, found } from '../../core/errors.ts';
import { ThrottledError } from '../../core/model/throttled.ts';
import { authValues } from '../../core/source/auth/auth-values.ts';
import { grantKey } from '../../core/source/auth/authorization-code.ts';
import type { TokenRequestContext } from '../../core/source/auth/oauth-token.ts';
import { openToken } from '../../core/source/auth/sealed-token.ts';
import { createTokenClient } from '../../core/source/auth/token-client.ts';
import { type Authorizable, authorizableOf } from '../../core/spec/connection/grants.ts';
import { ancestorsOf } from '../../core/spec/connection/partition-sources.ts';
import { invalidSpec, invalidValues, unknownResource } from '../../core/spec/connection/spec-errors.ts';
import { storedSpec } from '../../core/spec/connection/stored-spec.ts';
import type { ConnectorSpec, Resource } from '../../core/spec/schema/spec-schema.ts';
import type { Deps } from '../../deps.ts';
import { type CandidateValues, checkValues } from '../connections/values.ts';

export type GrantDeps = Pick<Deps, 'db' | 'log' | 'secretBox' | 'egress' | 'evaluators'>;

/** Disposing closes the client for the providers. */
export interface Grants extends AsyncDisposable {
  readonly all: readonly Authorizable[];
  readonly secrets: readonly string[];
  /** Name of the API, as the spec says it. */
  readonly provider: string;
  /** `null` for the connection. Throws conflict (it has none), validation (no such resource). */
  of(resourceKey: string | null): Authorizable;
  /** The keys of the resources that are read with a grant, and of those that depend on their records. */
  readersOf(grant: Pick<Authorizable, 'resourceKey'>): readonly string[];
  readonly context: TokenRequestContext;
}

/**
 * With candidate values, as if they were those of the connection. Throws not_found, conflict (spec and values no longer fit
 * together).
 */
export async function openGrants(
  deps: GrantDeps,
  scope: OrgScope,
  connectionId: string,
  candidate?: CandidateValues,
): Promise<Grants> {
  const apps = appsOf(deps, deps.db, scope, connectionId);
  const settings = await withAppSecrets(apps, await loadSettings(deps, scope, connectionId, candidate));
  const { spec, params, secrets } = settings;
  const masked = secretTexts(settings);
  const client = createTokenClient({
    egress: deps.egress,
    secrets: masked,
    logCall: ({ statusCode, durationMs, attempt, errorCode }) =>
      deps.log.info('token endpoint called', { connectionId, statusCode, durationMs, attempt, errorCode }),
  });
  const now = () => new Date();
  // Templates see an empty run, as this is outside of one.
  const run = { id: '', startedAt: now().toISOString(), mode: '' };
  const evaluator = deps.evaluators.forOrg(scope.orgId);
  const values = authValues({ params, secrets, run, evaluator, apps, mask: client.addSecret });
  const all = authorizableOf(spec);
  return {
    all,
    secrets: masked,
    provider: spec.metadata.name,
    of: (resourceKey) => all.find((one) => one.resourceKey === resourceKey) ?? refuse(spec, all, resourceKey),
    readersOf({ resourceKey }) {
      const isReader = ({ key, auth }: Resource) => (resourceKey === null ? !auth : key === resourceKey);
      const isConcerned = (one: Resource) => isReader(one) || ancestorsOf(spec, one).some(isReader);
      return spec.resources.filter(isConcerned).map(({ key }) => key);
    },
    context: { client, values, now },
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  };
}

function refuse({ auth, resources }: ConnectorSpec, all: readonly Authorizable[], resourceKey: string | null): never {
  const resource = resources.find(({ key }) => key === resourceKey);
  if (resourceKey !== null && !resource) throw unknownResource({ resources }, 'resource');
  const what = resource ? `The resource "${resource.key}"` : 'This connection';
  const { kind } = resource ? (resource.auth ?? { kind: 'none of its own' }) : auth;
  const others = all.map((one) => (one.resourceKey === null ? 'without ?resource' : `?resource=${one.resourceKey}`));
  const advice = others.length === 0 ? 'there is nothing to authorize at a provider' : `authorize ${others.join(', ')}`;
  throw conflict(`${what} has the auth ${kind}: ${advice}.`);
}

interface Settings {
  readonly spec: ConnectorSpec;
  readonly params: Readonly<Record<string, unknown>>;
  readonly secrets: Readonly<Record<string, unknown>>;
}

async function loadSettings(
  deps: GrantDeps,
  scope: OrgScope,
  connectionId: string,
  candidate: CandidateValues | undefined,
): Promise<Settings> {
  const connection = found(await findConnection(deps.db, scope, connectionId), 'Connection');
  const pinned = found(await findPinnedSpec(deps.db, scope, connectionId), 'Pinned spec version');
  const checked = storedSpec(pinned.specJson, connection.specOverridesJson);
  if (!checked.valid) throw invalidSpec('conflict', checked.issues);
  const stored = async () => ({
    params: connection.paramsJson,
    secrets: await openSecrets(deps, deps.db, scope, connectionId),
  });
  const values = checkValues(deps, checked.spec, candidate ?? (await stored()));
  if (!values.ok) throw invalidValues('conflict', values.issues);
  return { spec: checked.spec, params: values.params, secrets: values.secrets };
}

/** `madeFor` identifies the client and token URL. `null` if spec and values do not define it, so that no token fits. */
export interface ExpectedGrant extends Authorizable {
  readonly madeFor: string | null;
}

export async function expectedGrants({ all, context }: Grants): Promise<readonly ExpectedGrant[]> {
  const expected: ExpectedGrant[] = [];
  for (const one of all) {
    const madeFor = await grantKey(one.auth, context.values).catch((error: unknown) => {
      if (error instanceof AppError) return null;
      throw error;
    });
    expected.push({ ...one, madeFor });
  }
  return expected;
}

/** `null` stands for the connection as a whole. */
export async function missingGrants(
  { secretBox }: Pick<Deps, 'secretBox'>,
  tx: Db,
  scope: OrgScope,
  { connectionId, expected }: { readonly connectionId: string; readonly expected: readonly ExpectedGrant[] },
): Promise<(string | null)[]> {
  const missing: (string | null)[] = [];
  for (const { resourceKey, madeFor } of expected) {
    const sealed = await findToken(tx, scope, { connectionId, slot: tokenSlot(resourceKey) });
    const token = sealed && openToken(secretBox, sealed, { orgId: scope.orgId, ownerId: connectionId });
    if (!token || token.madeFor !== madeFor) missing.push(resourceKey);
  }
  return missing;
}

/** Throws conflict if `ask` fails: the error is at the provider, or in how the connection describes it. */
export async function orConflict<Result>(ask: () => Promise<Result>): Promise<Result> {
  try {
    return await ask();
  } catch (cause) {
    if (!(cause instanceof AppError) && !(cause instanceof ThrottledError)) throw cause;
    const message = `${cause.message} After that, start the authorization again.`;
    throw new AppError('conflict', message, { cause });
  }
}

import type { Db } from '../../../db/client.ts';
import {
  endConnectSession,
  findConnectSessionRow,
  findCustomerParams,
  findOpenSessionsOf,
  findOwnConnection,
  insertConnectSession,
} from '../../../db/queries/connect-sessions/sessions.ts';
import { findPinnedConnection } from '../../../db/queries/connections/connections.ts';
import { dropGrantsOfSession } from '../../../db/queries/connections/pending-grants.ts';
import { readAuthorizationSettings } from '../../../db/queries/orgs/authorization-settings.ts';
import { findWorkspace } from '../../../db/queries/orgs/workspaces.ts';
import { findNewestPublished, findSpecVersion } from '../../../db/queries/specs.ts';
import type { OrgScope } from '../../../db/scope.ts';
import { hashConnectSecret, makeConnectToken } from '../../core/crypto/connect-token.ts';
import { conflict, found, type Issue, invalid, schemaIssue } from '../../core/errors.ts';
import { newId } from '../../core/ids.ts';
import type { JsonObject } from '../../core/json/json-object.ts';
import type { ConnectSchedule, ConnectSessionRow } from '../../core/resources/connect-session.ts';
import { addressValues, sentSecrets } from '../../core/spec/connection/address-values.ts';
import { destinationRefusal } from '../../core/spec/connection/default-place.ts';
import { authorizableOf } from '../../core/spec/connection/grants.ts';
import type { ConnectorSpec } from '../../core/spec/schema/spec-schema.ts';
import type { Deps } from '../../deps.ts';
import { deleteConnection } from '../connections/connections.ts';
import { checkValues } from '../connections/values.ts';
import type { GrantDeps } from '../oauth/grant.ts';
import { checkReturnUrl } from '../oauth/return-url.ts';
import { requireRoom } from '../orgs/org-limits.ts';
import { type WriteDeps, write } from '../orgs/write.ts';
import type { RunDeps } from '../runs/runs.ts';
import { cronIssues, timezoneIssues } from '../schedules/schedules.ts';
import { refuseUnlessPublished } from '../specs/upgrade.ts';
import { pageOf } from './authorize.ts';
import { sealHeld } from './held.ts';
import { alone, unconfirmed, validSpec } from './open-session.ts';

export interface SessionRequest {
  /** `null`: the session makes one. */
  readonly connectionId: string | null;
  readonly workspaceId: string | null;
  readonly specKey: string | null;
  readonly specVersion: string | null;
  readonly displayName: string | null;
  readonly externalCustomerId: string | null;
  readonly params: JsonObject;
  readonly secrets: JsonObject;
  readonly overrides: JsonObject | null;
  /** `null`: every param that is not fixed; of a connection, those that its customer entered before. */
  readonly ask: readonly string[] | null;
  readonly newAccount: boolean;
  readonly resources: readonly string[];
  readonly schedules: readonly ConnectSchedule[];
  readonly returnUrl: string | null;
  readonly allowedOrigins: readonly string[];
  readonly ttlSeconds: number;
  /** Whether an embed token asks for it. */
  readonly fromEmbed: boolean;
}

/** A session in which its customer connects a connection again. */
export const sessionOf = (connectionId: string): SessionRequest => ({
  connectionId,
  ...{ workspaceId: null, specKey: null, specVersion: null, displayName: null, externalCustomerId: null },
  ...{ params: {}, secrets: {}, overrides: null, ask: null, newAccount: false, resources: [], schedules: [] },
  ...{ returnUrl: null, allowedOrigins: [], ttlSeconds: usualSessionSeconds, fromEmbed: false },
});

/** How long a customer has unless the org says otherwise. */
export const usualSessionSeconds = 1800;

export interface MadeSession {
  readonly id: string;
  readonly token: string;
  readonly url: string;
  readonly expiresAt: string;
}

type CreateDeps = WriteDeps &
  Pick<Deps, 'secretBox' | 'egress' | 'publicUrl' | 'defaultDestination' | 'scheduleMinIntervalSeconds'>;

/**
 * Throws validation, not_found (workspace, spec, version, connection), conflict (not published, no destination, nothing to
 * do, or the org confirms every grant and gave no return URL).
 */
export async function createSession(deps: CreateDeps, scope: OrgScope, request: SessionRequest): Promise<MadeSession> {
  const { connectionId, params, secrets, overrides, ttlSeconds } = request;
  const begun = connectionId === null ? await ofSpec(deps, scope, request) : await ofConnection(deps, scope, request);
  const { spec, asked, ...facts } = begun;
  const settings = await readAuthorizationSettings(deps.db, scope);
  const isConsent = authorizableOf(spec).length > 0;
  if (isConsent && settings.confirmationRequired && request.returnUrl === null) throw unconfirmed();
  refuseUnknown(deps, spec, request, asked);
  const id = newId('cse');
  const token = makeConnectToken(id);
  const fixed = connectionId === null ? { params, secrets } : null;
  const row = await write(deps, async (tx) => {
    await requireRoom(tx, scope, 'connectSessions');
    if (connectionId !== null) await makeRoom(tx, scope, { connectionId, fromEmbed: request.fromEmbed });
    return await insertConnectSession(tx, scope, {
      ...facts,
      id,
      tokenHash: hashConnectSecret(token),
      step: 'values',
      connectionId,
      specKey: spec.metadata.key,
      specOverridesJson: connectionId === null ? overrides : null,
      askedParams: asked,
      newAccount: request.newAccount,
      fromEmbed: request.fromEmbed,
      resourceKeys: [...request.resources],
      schedulesJson: request.schedules,
      returnUrl: request.returnUrl === null ? null : checkReturnUrl(request.returnUrl, settings),
      allowedOrigins: request.allowedOrigins,
      sealed: sealHeld(deps.secretBox, scope, id, { fixed, entered: null, codes: {}, proofs: {}, isMoved: false }),
      ttlSeconds,
    });
  });
  return { id, token, url: `${pageOf(deps, id)}#${token}`, expiresAt: row.expiresAt };
}

const openMax = 20;

/** For one connection: one of an embed token, which the next replaces, and some of API keys. The caller has locked the org. */
async function makeRoom(
  tx: Db,
  scope: OrgScope,
  wanted: { readonly connectionId: string; readonly fromEmbed: boolean },
): Promise<void> {
  const open = await findOpenSessionsOf(tx, scope, wanted);
  if (!wanted.fromEmbed && open.length >= openMax) {
    throw conflict(`The connection has ${openMax} open sessions: end one, DELETE /api/v1/connect-sessions/:id.`);
  }
  for (const { id } of wanted.fromEmbed ? open : []) {
    await dropGrantsOfSession(tx, scope, id);
    await endConnectSession(tx, scope, { id, state: 'canceled' });
  }
}

async function ofSpec(deps: CreateDeps, scope: OrgScope, request: SessionRequest) {
  const missing = (['workspaceId', 'specKey'] as const).filter((name) => request[name] === null);
  if (missing.length > 0) throw refused(missing.map((name) => schemaIssue(name, 'is required without connectionId')));
  const { workspaceId, specKey: key, specVersion, overrides, params, secrets } = request;
  found(await findWorkspace(deps.db, scope, workspaceId ?? ''), 'Workspace');
  const version = found(specVersion ?? (await findNewestPublished(deps.db, scope, key ?? '')), 'Spec version');
  const row = found(await findSpecVersion(deps.db, scope, { key: key ?? '', version }), 'Spec version');
  refuseUnlessPublished(row);
  const spec = validSpec(row.specJson, overrides);
  const refusal = destinationRefusal(spec, deps.defaultDestination);
  if (refusal !== null) throw conflict(refusal);
  const isFixed = (name: string) => Object.hasOwn(params, name) || Object.hasOwn(secrets, name);
  const open = spec.connectionParams.map((param) => param.key).filter((name) => !isFixed(name));
  return {
    spec,
    asked: askable(spec, {
      ask: request.ask,
      usual: open,
      isFixed: (name) => Object.hasOwn(secrets, name),
      isStored: false,
    }),
    workspaceId,
    specId: row.specId,
    specVersion: row.version,
    displayName: request.displayName ?? spec.metadata.name,
    externalCustomerId: request.externalCustomerId,
    authorizes: false,
  };
}

const onlyOfSpec = ['workspaceId', 'specKey', 'specVersion', 'displayName', 'externalCustomerId', 'overrides'] as const;

async function ofConnection(deps: CreateDeps, scope: OrgScope, request: SessionRequest) {
  const stray: string[] = onlyOfSpec.filter((name) => request[name] !== null);
  for (const name of ['params', 'secrets'] as const) if (Object.keys(request[name]).length > 0) stray.push(name);
  if (stray.length > 0) throw refused(stray.map((name) => schemaIssue(name, 'is of a new connection: leave it out')));
  const connectionId = request.connectionId ?? '';
  const connection = found(await findPinnedConnection(deps.db, scope, connectionId), 'Connection');
  const spec = validSpec(connection.specJson, connection.specOverridesJson);
  const declared = new Set(spec.connectionParams.map(({ key }) => key));
  const before = (await findCustomerParams(deps.db, scope, connectionId)).filter((key) => declared.has(key));
  const asked = askable(spec, { ask: request.ask, usual: before, isFixed: () => true, isStored: true });
  if (asked.length === 0 && authorizableOf(spec).length === 0) {
    throw conflict('The customer has nothing to do: name in `ask` the params that they are to enter.');
  }
  return {
    spec,
    asked,
    workspaceId: null,
    specId: null,
    specVersion: null,
    displayName: connection.displayName,
    externalCustomerId: connection.externalCustomerId,
    authorizes: request.ask === null,
  };
}

interface Askable {
  readonly ask: readonly string[] | null;
  readonly usual: readonly string[];
  readonly isFixed: (secret: string) => boolean;
  /** Whether there is a value of each that is left out. */
  readonly isStored: boolean;
}

/** A customer who chose the address would get the secrets that they are not asked for. */
function askable(spec: ConnectorSpec, { ask, usual, isFixed, isStored }: Askable): readonly string[] {
  const asked = ask ?? usual;
  const addresses = addressValues(spec);
  const [secret] = sentSecrets(spec).filter((key) => isFixed(key) && !asked.includes(key));
  const isRisky = (key: string) => secret !== undefined && (addresses.has(key) || addresses.has(null));
  const message = `decides where the secret ${secret} is sent, which the customer does not enter`;
  const risky = asked.filter(isRisky);
  if (ask !== null && risky.length > 0) throw refused(risky.map((key) => schemaIssue('ask', `${key} ${message}`)));
  const needed = isStored ? [] : spec.connectionParams.filter((param) => param.required && param.default === undefined);
  const missing = needed.filter(({ key }) => risky.includes(key));
  if (missing.length === 0) return asked.filter((key) => !isRisky(key));
  throw refused(
    missing.map(({ key, secret: isSecret }) =>
      schemaIssue(`${isSecret ? 'secrets' : 'params'}.${key}`, `${message}: fix it too`),
    ),
  );
}

const refused = (issues: readonly Issue[]) => invalid('The session is not valid.', issues);

/** What is wrong now is said to the org now, not to its customer later. */
function refuseUnknown(
  deps: CreateDeps,
  spec: ConnectorSpec,
  { connectionId, params, secrets, ask, resources, schedules }: SessionRequest,
  asked: readonly string[],
): void {
  const declared = new Set(spec.connectionParams.map(({ key }) => key));
  const keys = new Set(spec.resources.map(({ key }) => key));
  const noResource = 'the spec has no such resource';
  const issues = [
    ...(ask ?? []).flatMap((key, index) =>
      declared.has(key) ? [] : [schemaIssue(`ask.${index}`, 'the spec declares no such value')],
    ),
    ...resources.flatMap((key, index) => (keys.has(key) ? [] : [schemaIssue(`resources.${index}`, noResource)])),
    ...schedules.flatMap((schedule, index) => [
      ...(keys.has(schedule.resourceKey) ? [] : [schemaIssue(`schedules.${index}.resourceKey`, noResource)]),
      ...[...cronIssues(deps, schedule.cron), ...timezoneIssues(schedule.timezone)].map(({ path, message }) =>
        schemaIssue(`schedules.${index}.${path}`, message),
      ),
    ]),
    ...(connectionId === null ? fixedIssues(deps, spec, { params, secrets }, asked) : []),
  ];
  if (issues.length > 0) throw refused(issues);
}

/** Values that are missing are the customer's to enter, if they are asked. */
function fixedIssues(
  deps: CreateDeps,
  spec: ConnectorSpec,
  fixed: Pick<SessionRequest, 'params' | 'secrets'>,
  asked: readonly string[],
): readonly Issue[] {
  const theirs = new Set(asked);
  const twice = [...Object.keys(fixed.params), ...Object.keys(fixed.secrets)]
    .filter((key) => theirs.has(key))
    .map((key) => schemaIssue('ask', `${key} is fixed and asked for: choose one`));
  const checked = checkValues(deps, spec, fixed);
  if (checked.ok) return twice;
  return [...twice, ...checked.issues.filter(({ path }) => !theirs.has(path.split('.')[1] ?? ''))];
}

/** Ends an open session; what it has made and is not active is removed. Throws not_found. */
export async function cancelSession(
  deps: RunDeps & GrantDeps,
  scope: OrgScope,
  id: string,
): Promise<ConnectSessionRow> {
  const row = found(await findConnectSessionRow(deps.db, scope, id), 'Session');
  if (row.endedAt === null)
    await endUnfinished(deps, scope, { id, state: row.state === 'expired' ? 'expired' : 'canceled' });
  return found(await findConnectSessionRow(deps.db, scope, id), 'Session');
}

/** Throws conflict while a request is at work with it. */
export async function endUnfinished(
  deps: RunDeps & GrantDeps,
  scope: OrgScope,
  { id, state }: { readonly id: string; readonly state: 'expired' | 'canceled' },
): Promise<void> {
  await alone(deps, { scope, sessionId: id }, async () => {
    const own = await findOwnConnection(deps.db, scope, id);
    // Its session ends with it. Providers that revoke all grants of an account together would end other connections of it.
    if (own?.status === 'pending') return await deleteConnection(deps, scope, own.id, { revokes: false });
    await deps.db.transaction().execute(async (tx) => {
      await dropGrantsOfSession(tx, scope, id);
      // Active: a process died after the activation, before it ended the session.
      await endConnectSession(tx, scope, { id, state: own ? 'connected' : state });
    });
  });
}

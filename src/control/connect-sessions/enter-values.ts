import { isDeepStrictEqual } from 'node:util';
import { attachConnection, beginAttempt, lockConnectSession } from '../../../db/queries/connect-sessions/sessions.ts';
import type { OrgScope } from '../../../db/scope.ts';
import { AppError, found, type Issue, invalid, schemaIssue } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json/json-object.ts';
import type { ChangePlan } from '../../core/resources/spec.ts';
import { addressValues, sentSecrets } from '../../core/spec/connection/address-values.ts';
import type { ConnectionParam } from '../../core/spec/schema/param-schema.ts';
import type { Deps } from '../../deps.ts';
import type { WakeDeps } from '../../dispatch/wake-endpoints.ts';
import type { ChangeDeps } from '../connections/change.ts';
import { createConnection } from '../connections/connections.ts';
import { updateConnection } from '../connections/update.ts';
import type { CandidateValues } from '../connections/values.ts';
import { type Held, openHeld, sealHeld } from './held.ts';
import {
  alone,
  isInUse,
  keepProblem,
  type OpenedSession,
  openSession,
  orProblem,
  requireOpen,
  type SessionKey,
  withEntered,
} from './open-session.ts';
import { askedOf } from './view.ts';

type EnterDeps = ChangeDeps & WakeDeps & Pick<Deps, 'secretBox' | 'egress' | 'defaultDestination'>;

/**
 * Checks what the customer enters as the API does. The first values that fit make the connection, pending; those of a
 * connection that was there before wait until the session ends well. An absent secret stays as it is. Throws validation
 * (issues at the keys), conflict (the session has ended, another request is at work, or it is not up to the customer).
 */
export async function enterValues(deps: EnterDeps, key: SessionKey, given: JsonObject): Promise<void> {
  await alone(deps, key, async () => {
    const { scope } = key;
    const opened = await openSession(deps, key);
    const { session, connection } = opened;
    requireOpen(session);
    const values = merged(opened, given);
    const isMoved = isOtherAddress(opened, values);
    if (isMoved) refuseKeptSecrets(opened, given);
    const waits = isInUse(opened);
    await orIssues(deps, scope, opened, async () => {
      if (!connection) return await makeConnection(deps, scope, opened, values);
      if (waits) return await checkChange(deps, scope, { id: connection.id, values });
      await updateConnection(deps, scope, { ...change(connection.id, values), dryRun: false, allowDeletes: true });
    });
    const moved = isMoved ? { codes: {}, proofs: {}, isMoved } : {};
    await changeHeld(deps, scope, session.id, (held) => ({
      ...held,
      ...moved,
      fixed: null,
      entered: waits ? enteredOf(opened, given) : null,
    }));
  });
}

const change = (id: string, { params, secrets }: CandidateValues) => ({ id, params, secrets });

/** Changes what is sealed; what was tested before counts no more. */
export async function changeHeld(
  { db, secretBox }: Pick<Deps, 'db' | 'secretBox'>,
  scope: OrgScope,
  id: string,
  to: (held: Held) => Held,
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const session = found(await lockConnectSession(tx, scope, id), 'Session');
    requireOpen(session);
    const sealed = sealHeld(secretBox, scope, id, to(openHeld(secretBox, scope, session)));
    await beginAttempt(tx, scope, { id, sealed, problem: null });
  });
}

/** Throws validation for what the customer is not asked for. */
function merged(opened: OpenedSession, given: JsonObject): CandidateValues {
  const known = new Set(askedOf(opened).map(({ key }) => key));
  const stray = Object.keys(given).filter((key) => !known.has(key));
  if (stray.length > 0) throw refused(stray.map((key) => schemaIssue(key, 'is not asked for here')));
  return withEntered(opened.values, enteredOf(opened, given), opened.session);
}

/** With the secrets that were entered before in the session. */
function enteredOf(opened: OpenedSession, given: JsonObject): CandidateValues {
  const asked = askedOf(opened);
  return {
    params: Object.fromEntries(entries(asked, given, false)),
    secrets: { ...opened.held.entered?.secrets, ...Object.fromEntries(entries(asked, given, true)) },
  };
}

/** Whether requests would go to another host than by what is there. */
function isOtherAddress({ spec, values: { params, secrets } }: OpenedSession, wanted: CandidateValues): boolean {
  const named = addressValues(spec);
  const addressesOf = (values: JsonObject): JsonObject =>
    Object.fromEntries(Object.entries(values).filter(([key]) => named.has(key) || named.has(null)));
  const before = addressesOf({ ...params, ...secrets });
  return !isDeepStrictEqual(before, addressesOf({ ...wanted.params, ...wanted.secrets }));
}

/** No secret that is there goes to an address of the customer's choice. */
function refuseKeptSecrets(opened: OpenedSession, given: JsonObject): void {
  const entered = Object.fromEntries(entries(askedOf(opened), given, true));
  const kept = sentSecrets(opened.spec).filter(
    (key) => Object.hasOwn(opened.values.secrets, key) && !Object.hasOwn(entered, key),
  );
  if (kept.length > 0) throw refused(kept.map((key) => schemaIssue(key, 'enter it again: the address is another one')));
}

const entries = (asked: readonly ConnectionParam[], given: JsonObject, secret: boolean) =>
  asked.flatMap((param) => {
    const value = Object.hasOwn(given, param.key) ? given[param.key] : undefined;
    const isThere = value !== undefined && value !== null && value !== '';
    return param.secret === secret && isThere ? [[param.key, value] as const] : [];
  });

const refused = (issues: readonly Issue[]): AppError => invalid('Some values do not fit.', issues);

async function makeConnection(
  deps: EnterDeps,
  scope: OrgScope,
  { session }: OpenedSession,
  values: CandidateValues,
): Promise<void> {
  const { id, workspaceId, specKey, specVersion, displayName, externalCustomerId, specOverridesJson } = session;
  const request = { workspaceId: workspaceId ?? '', specKey, specVersion: specVersion ?? '', displayName };
  // In the transaction that makes it, so that none is left without its session.
  const saveResponse = (tx: Deps['db'], made: unknown) =>
    attachConnection(tx, scope, { id, connectionId: (made as { readonly id: string }).id });
  await createConnection({ ...deps, saveResponse }, scope, {
    ...request,
    externalCustomerId,
    errorAfterMinutes: 0,
    specOverrides: specOverridesJson,
    ...values,
  });
}

async function checkChange(
  deps: EnterDeps,
  scope: OrgScope,
  { id, values }: { readonly id: string; readonly values: CandidateValues },
): Promise<void> {
  const { plan } = await updateConnection(deps, scope, { ...change(id, values), dryRun: true, allowDeletes: false });
  const issues: ChangePlan['issues'] = plan?.issues ?? [];
  if (issues.length > 0) throw invalid('The change breaks the rules of the spec.', issues);
}

/** Issues of what is asked are the customer's; all others are kept for the org. */
async function orIssues(
  deps: Pick<Deps, 'db'>,
  scope: OrgScope,
  opened: OpenedSession,
  work: () => Promise<void>,
): Promise<void> {
  const { session } = opened;
  try {
    await work();
  } catch (error) {
    const own = theirIssues(opened, error);
    if (own.length === 0) return await orProblem(deps, scope, session, () => Promise.reject(error));
    const message = `The customer entered values that do not fit: ${own.map(({ path }) => path).join(', ')}.`;
    await keepProblem(deps, scope, { ...session, problem: { code: 'validation', message } });
    throw refused(own);
  }
}

function theirIssues(opened: OpenedSession, error: unknown): readonly Issue[] {
  if (!(error instanceof AppError) || error.code !== 'validation') return [];
  const known = new Set(askedOf(opened).map(({ key }) => key));
  return (error.issues ?? []).flatMap(({ path, message }) => {
    const [side, key = ''] = path.split('.');
    return (side === 'params' || side === 'secrets') && known.has(key) ? [schemaIssue(key, message)] : [];
  });
}

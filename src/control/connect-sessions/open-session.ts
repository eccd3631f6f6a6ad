import {
  type ConnectSession,
  findConnectSession,
  giveBusyBack,
  noteProblem,
  takeBusy,
} from '../../../db/queries/connect-sessions/sessions.ts';
import { findPinnedConnection, type PinnedConnection } from '../../../db/queries/connections/connections.ts';
import { findVersionOfSpec } from '../../../db/queries/specs.ts';
import type { OrgScope } from '../../../db/scope.ts';
import { openSecrets } from '../../connect/secrets.ts';
import { AppError, conflict, found } from '../../core/errors.ts';
import type { ConnectProblem } from '../../core/resources/connect-session.ts';
import { invalidSpec } from '../../core/spec/connection/spec-errors.ts';
import { storedSpec } from '../../core/spec/connection/stored-spec.ts';
import type { ConnectorSpec } from '../../core/spec/schema/spec-schema.ts';
import type { Deps } from '../../deps.ts';
import { type CandidateValues, declaredValues } from '../connections/values.ts';
import { type Held, openHeld } from './held.ts';

export interface SessionKey {
  readonly scope: OrgScope;
  readonly sessionId: string;
}

/** A session with all that it works with. */
export interface OpenedSession {
  readonly session: ConnectSession;
  readonly held: Held;
  readonly spec: ConnectorSpec;
  /** `null` until the customer has entered values that fit. */
  readonly connection: PinnedConnection | null;
  /** What is fixed or stored, with what the customer has entered over it. */
  readonly values: CandidateValues;
}

type OpenDeps = Pick<Deps, 'db' | 'secretBox'>;

/** Throws not_found (also if its connection was deleted), conflict (the spec and its overrides do not fit). */
export async function openSession(deps: OpenDeps, { scope, sessionId }: SessionKey): Promise<OpenedSession> {
  const session = found(await findConnectSession(deps.db, scope, sessionId), 'Session');
  const held = openHeld(deps.secretBox, scope, session);
  const { connectionId, specOverridesJson } = session;
  if (connectionId === null) {
    const { specId, specVersion } = session;
    const name = { specId: specId ?? '', version: specVersion ?? '' };
    const { specJson } = found(await findVersionOfSpec(deps.db, scope, name), 'Spec version');
    return {
      session,
      held,
      spec: validSpec(specJson, specOverridesJson),
      connection: null,
      values: held.fixed ?? { params: {}, secrets: {} },
    };
  }
  const connection = found(await findPinnedConnection(deps.db, scope, connectionId), 'Connection');
  const spec = validSpec(connection.specJson, connection.specOverridesJson);
  const stored = {
    params: connection.paramsJson,
    secrets: await openSecrets(deps, deps.db, scope, connectionId),
  };
  const values = held.entered ? withEntered(stored, held.entered, session) : stored;
  return { session, held, spec, connection, values: declaredValues(spec, values) };
}

/** Of the params that are asked for, one that was not entered is taken away; an absent secret stays. */
export function withEntered(
  { params, secrets }: CandidateValues,
  entered: CandidateValues,
  { askedParams }: Pick<ConnectSession, 'askedParams'>,
): CandidateValues {
  const kept = Object.entries(params).filter(([key]) => !askedParams.includes(key));
  return { params: { ...Object.fromEntries(kept), ...entered.params }, secrets: { ...secrets, ...entered.secrets } };
}

/** Whether the connection runs, or did: what the customer enters waits until it is tested. */
export const isInUse = ({ session, connection }: Pick<OpenedSession, 'session' | 'connection'>): boolean =>
  connection !== null && (session.specId === null || connection.status !== 'pending');

export function validSpec(document: unknown, overrides: unknown): ConnectorSpec {
  const checked = storedSpec(document, overrides);
  if (!checked.valid) throw invalidSpec('conflict', checked.issues);
  return checked.spec;
}

/** Throws conflict, in words for a customer. */
export function requireOpen({ state }: Pick<ConnectSession, 'state'>): void {
  if (state === 'open') return;
  const why = { connected: 'is finished', expired: 'has expired', canceled: 'was ended' }[state];
  throw conflict(`This session ${why}. Ask for a new link where you found this one.`);
}

/** For an org that confirms every consent. */
export const unconfirmed = (): AppError =>
  conflict(
    'The org requires authorizations to be confirmed: give a returnUrl, then POST /api/v1/connect-sessions/confirm.',
  );

/** Seconds after which another request may take over: longer than what one does. */
const busySeconds = 60;

/**
 * Works alone on the connection of a session: two tabs make no second one. Throws conflict if another request is at work.
 */
export async function alone<Result>(
  deps: Pick<Deps, 'db'>,
  { scope, sessionId }: SessionKey,
  work: () => Promise<Result>,
): Promise<Result> {
  const until = await takeBusy(deps.db, scope, sessionId, busySeconds);
  if (until === null) {
    throw conflict('Another window is at work with this session, or it has ended. Try again in a moment.');
  }
  try {
    return await work();
  } finally {
    await giveBusyBack(deps.db, scope, sessionId, until);
  }
}

/** Keeps the words for the org, which may name what it has fixed; the customer gets the code alone. */
export async function keepProblem(
  { db }: Pick<Deps, 'db'>,
  scope: OrgScope,
  { id, attemptNo, problem }: Pick<ConnectSession, 'id' | 'attemptNo'> & { readonly problem: ConnectProblem | null },
): Promise<void> {
  await noteProblem(db, scope, { id, attemptNo, problem });
}

/** What the customer cannot mend becomes a conflict without the words for the org. */
export async function orProblem<Result>(
  deps: Pick<Deps, 'db'>,
  scope: OrgScope,
  session: Pick<ConnectSession, 'id' | 'attemptNo'>,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof AppError) || error.code === 'internal') throw error;
    const { code, message } = error;
    await keepProblem(deps, scope, { ...session, problem: { code, message } });
    throw new AppError(code === 'plan_limit' ? 'plan_limit' : 'conflict', notTheirs, { cause: error });
  }
}

const notTheirs =
  'This cannot go on, and it is not up to you. Tell those who gave you this link; they see the reason. You can try again then.';

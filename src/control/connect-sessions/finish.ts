/** The end of a session: the connection becomes active, or the org confirms first who was there. */
import {
  awaitConfirmation,
  type ConnectSession,
  endConnectSession,
  findConnectSessionRow,
  lockConnectSession,
  putCustomerParams,
  putHeld,
} from '../../../db/queries/connect-sessions/sessions.ts';
import { readAuthorizationSettings } from '../../../db/queries/orgs/authorization-settings.ts';
import { listSchedules } from '../../../db/queries/schedules.ts';
import type { OrgScope } from '../../../db/scope.ts';
import { hashConnectSecret, isConnectSecret, makeConnectSecret } from '../../core/crypto/connect-token.ts';
import { AppError, conflict, found } from '../../core/errors.ts';
import type { ConnectSessionRow } from '../../core/resources/connect-session.ts';
import type { ScheduleRow } from '../../core/resources/schedule.ts';
import type { Deps } from '../../deps.ts';
import { wakeEndpoints } from '../../dispatch/wake-endpoints.ts';
import { activateWithin, recordActivation } from '../connections/activation.ts';
import type { ChangeDeps } from '../connections/change.ts';
import { updateConnection } from '../connections/update.ts';
import type { GrantDeps } from '../oauth/grant.ts';
import { confirmAuthorization } from '../oauth/pending.ts';
import { recheckReturnUrl, returnAddress } from '../oauth/return-url.ts';
import { requestRun } from '../runs/runs.ts';
import { applySchedulesOf } from '../schedules/apply.ts';
import { createSchedule } from '../schedules/schedules.ts';
import { type Held, openHeld, sealHeld } from './held.ts';
import {
  alone,
  type OpenedSession,
  openSession,
  orProblem,
  requireOpen,
  type SessionKey,
  unconfirmed,
} from './open-session.ts';
import { standOf } from './view.ts';

export type FinishDeps = ChangeDeps & GrantDeps & Pick<Deps, 'scheduleMinIntervalSeconds' | 'defaultDestination'>;

export interface Finished {
  /** Where the customer goes with the code; `null`: they stay. */
  readonly returnAddress: string | null;
}

/**
 * After a test of both parts, by the browser that consented. Throws conflict (not tested, ended, another browser, or not up
 * to the customer), plan_limit.
 */
export async function finishSession(deps: FinishDeps, key: SessionKey, proofs: readonly string[]): Promise<Finished> {
  const { scope } = key;
  return await alone(deps, key, async () => {
    const opened = await openSession(deps, key);
    const { session, held } = opened;
    requireOpen(session);
    const { step, consents } = await standOf(deps, scope, opened);
    const isTested = ['source', 'destination'].every((part) => session.tested.includes(part));
    if (!['test', 'confirm'].includes(step) || !isTested) throw conflict('Test the connection first.');
    if (!isProven(held, proofs)) throw otherBrowser();
    const { returnUrl } = session;
    return await orProblem(deps, scope, session, async () => {
      const settings = await readAuthorizationSettings(deps.db, scope);
      if (returnUrl === null) {
        if (consents.needed > 0 && settings.confirmationRequired) throw unconfirmed();
        await complete(deps, scope, opened);
        return { returnAddress: null };
      }
      recheckReturnUrl(returnUrl, settings);
      const code = makeConnectSecret();
      const waits = { ...session, confirmHash: hashConnectSecret(code) };
      if (!(await awaitConfirmation(deps.db, scope, waits))) throw conflict('The session has changed meanwhile.');
      return { returnAddress: returnAddress(returnUrl, { code }) };
    });
  });
}

/** Whether it is the browser that gave each consent of the session. */
function isProven({ proofs: needed }: Held, proofs: readonly string[]): boolean {
  const given = new Set(proofs.map((proof) => hashConnectSecret(proof).toString('base64url')));
  return Object.values(needed).every((hash) => given.has(hash));
}

const otherBrowser = (): AppError =>
  conflict('Finish in the window in which you gave permission. If it is closed, give permission again.');

/**
 * The org says that the browser with the code is of the customer whom it sent. Throws not_found (no such session or code),
 * conflict (ended, or what the customer gave no longer fits), plan_limit.
 */
export async function confirmSession(
  deps: FinishDeps,
  scope: OrgScope,
  { sessionId, code }: { readonly sessionId: string; readonly code: string },
): Promise<ConnectSessionRow> {
  const row = found(await findConnectSessionRow(deps.db, scope, sessionId), 'Session');
  if (row.state === 'connected') throw conflict('That session is connected already: GET /api/v1/connect-sessions/:id.');
  if (row.state !== 'open') throw conflict(`The session is ${row.state}: make a new one.`);
  await alone(deps, { scope, sessionId }, async () => {
    const opened = await openSession(deps, { scope, sessionId });
    if (!isConnectSecret(code, opened.session.confirmHash)) throw unknownCode();
    const { step } = await standOf(deps, scope, opened);
    if (step !== 'confirm') throw changed();
    await complete(deps, scope, opened);
  });
  return found(await findConnectSessionRow(deps.db, scope, sessionId), 'Session');
}

const changed = (): AppError =>
  conflict(
    'What the customer gave no longer fits the connection, so nothing was changed: let them open their link again.',
  );

const unknownCode = (): AppError =>
  new AppError(
    'not_found',
    'The session does not wait for that code. It may be of another session, replaced by a later one, or the customer has changed something since.',
  );

/** Each part is done once, however often this is repeated after an error. */
async function complete(deps: FinishDeps, scope: OrgScope, opened: OpenedSession): Promise<void> {
  const { session, held, connection, values } = opened;
  const { id: connectionId } = found(connection, 'Connection');
  // Limits can refuse these, so they come before what changes the connection.
  await makeSchedules(deps, scope, { connectionId, schedules: session.schedulesJson });
  // With what its org has changed meanwhile. Rows of a connection in use are not the customer's to delete.
  if (held.entered) {
    await updateConnection(deps, scope, { id: connectionId, ...values, dryRun: false, allowDeletes: false });
  }
  for (const [slot, code] of Object.entries(held.codes)) {
    if (code === null) continue;
    await confirmAuthorization(deps, scope, { connectionId, code, reason: 'connect' }).catch(async (error: unknown) => {
      // The plan allows no more connections, but the grant is stored.
      if (error instanceof AppError && error.code === 'plan_limit') await markStored(deps, scope, session, slot);
      throw error;
    });
    await markStored(deps, scope, session, slot);
  }
  await deps.db.transaction().execute(async (tx) => {
    const activation = await activateWithin(tx, scope, connectionId);
    if (session.askedParams.length > 0) {
      await putCustomerParams(tx, scope, { connectionId, keys: session.askedParams });
    }
    await endConnectSession(tx, scope, { id: session.id, state: 'connected' });
    await recordActivation(tx, scope, { ...activation, reason: 'connect' });
  });
  deps.log.info('customer connected', { orgId: scope.orgId, connectionId, sessionId: session.id });
  void wakeEndpoints(deps, scope);
  await applySchedulesOf(deps, scope, connectionId);
  await syncFirst(deps, scope, { connectionId, resourceKeys: session.resourceKeys });
}

/** Without a new attempt: what was tested still counts. */
async function markStored(
  { db, secretBox }: Pick<Deps, 'db' | 'secretBox'>,
  scope: OrgScope,
  { id }: Pick<ConnectSession, 'id'>,
  slot: string,
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const session = found(await lockConnectSession(tx, scope, id), 'Session');
    const held = openHeld(secretBox, scope, session);
    const sealed = sealHeld(secretBox, scope, id, { ...held, codes: { ...held.codes, [slot]: null } });
    await putHeld(tx, scope, { id, sealed });
  });
}

async function makeSchedules(
  deps: FinishDeps,
  scope: OrgScope,
  { connectionId, schedules }: { readonly connectionId: string; readonly schedules: ConnectSession['schedulesJson'] },
): Promise<void> {
  if (schedules.length === 0) return;
  const { rows } = await listSchedules(deps.db, scope, connectionId);
  const made = new Set((await Array.fromAsync(rows)).map(nameOf));
  for (const schedule of schedules) {
    if (!made.has(nameOf(schedule))) await createSchedule(deps, scope, { ...schedule, connectionId });
  }
}

const nameOf = ({ resourceKey, cron, timezone }: Pick<ScheduleRow, 'resourceKey' | 'cron' | 'timezone'>): string =>
  JSON.stringify([resourceKey, cron, timezone]);

/** The customer is connected even if a first sync is refused; the org sees that it has not run. */
async function syncFirst(
  deps: FinishDeps,
  scope: OrgScope,
  { connectionId, resourceKeys }: { readonly connectionId: string; readonly resourceKeys: readonly string[] },
): Promise<void> {
  for (const resourceKey of resourceKeys) {
    try {
      await requestRun(deps, scope, { connectionId, resourceKey, trigger: 'manual', backfill: null });
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      deps.log.warn('first sync of a connect session refused', { connectionId, resourceKey, error });
    }
  }
}

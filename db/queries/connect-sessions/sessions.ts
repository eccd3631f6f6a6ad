import { sql } from 'kysely';
import type { SealedSecret } from '../../../src/core/crypto/secret-box.ts';
import type { JsonObject } from '../../../src/core/json/json-object.ts';
import type {
  ConnectProblem,
  ConnectSchedule,
  ConnectSessionRow,
  ConnectSessionState,
  ConnectStep,
} from '../../../src/core/resources/connect-session.ts';
import type { ConnectionStatus } from '../../../src/core/resources/connection.ts';
import type { Db } from '../../client.ts';
import { type Listing, openNewestFirst } from '../../listing.ts';
import type { OrgScope } from '../../scope.ts';
import { sealedColumns, sealedOf } from '../connections/sealed-columns.ts';

const rowColumns = [
  'id',
  'state',
  'step',
  'connectionId',
  'specKey',
  'displayName',
  'externalCustomerId',
  'problemJson as problem',
  'createdAt',
  'openedAt',
  'expiresAt',
  'endedAt',
] as const;

/** What a session works with. */
export interface ConnectSession extends ConnectSessionRow {
  readonly workspaceId: string | null;
  /** Of the connection that it makes; `null` if its connection was there before. */
  readonly specId: string | null;
  readonly specVersion: string | null;
  readonly specOverridesJson: JsonObject | null;
  readonly askedParams: readonly string[];
  readonly authorizes: boolean;
  readonly newAccount: boolean;
  readonly resourceKeys: readonly string[];
  readonly schedulesJson: readonly ConnectSchedule[];
  readonly returnUrl: string | null;
  readonly allowedOrigins: readonly string[];
  readonly attemptNo: number;
  readonly tested: readonly string[];
  readonly confirmHash: Buffer | null;
  /** `null` once it has ended. */
  readonly sealed: SealedSecret | null;
}

const workColumns = [
  ...rowColumns,
  'workspaceId',
  'specId',
  'specVersion',
  'specOverridesJson',
  'askedParams',
  'authorizes',
  'newAccount',
  'resourceKeys',
  'schedulesJson',
  'returnUrl',
  'allowedOrigins',
  'attemptNo',
  'tested',
  'confirmHash',
  'kekId',
  'wrappedKey',
  'nonce',
  'ciphertext',
] as const;

const ofOrg = (db: Db, { orgId }: OrgScope) => db.selectFrom('connectSessions').where('orgId', '=', orgId);
const update = (db: Db, { orgId }: OrgScope, id: string) =>
  db.updateTable('connectSessions').where('orgId', '=', orgId).where('id', '=', id);
const isOpen = sql<boolean>`state = 'open' and expires_at > now()`;
/** A session whose time is over reads as expired before the sweeper has seen it. */
const state =
  sql<ConnectSessionState>`case when state = 'open' and expires_at <= now() then 'expired' else state end`.as('state');

export interface NewConnectSession
  extends Omit<
    ConnectSession,
    'state' | 'problem' | 'createdAt' | 'openedAt' | 'expiresAt' | 'endedAt' | 'attemptNo' | 'tested' | 'confirmHash'
  > {
  readonly tokenHash: Buffer;
  /** Whether an embed token made it. */
  readonly fromEmbed: boolean;
  readonly ttlSeconds: number;
  readonly sealed: SealedSecret;
}

export function insertConnectSession(
  tx: Db,
  scope: OrgScope,
  { sealed, ttlSeconds, specOverridesJson, schedulesJson, ...session }: NewConnectSession,
): Promise<ConnectSessionRow> {
  const { askedParams, resourceKeys, allowedOrigins } = session;
  return tx
    .insertInto('connectSessions')
    .values({
      ...session,
      ...sealedColumns(sealed),
      orgId: scope.orgId,
      askedParams: [...askedParams],
      resourceKeys: [...resourceKeys],
      allowedOrigins: [...allowedOrigins],
      specOverridesJson: specOverridesJson === null ? null : JSON.stringify(specOverridesJson),
      schedulesJson: JSON.stringify(schedulesJson),
      expiresAt: sql<string>`now() + make_interval(secs => ${ttlSeconds})`,
    })
    .returning(rowColumns)
    .executeTakeFirstOrThrow();
}

export const listConnectSessions = (db: Db, scope: OrgScope): Promise<Listing<ConnectSessionRow>> =>
  openNewestFirst(ofOrg(db, scope).select([...rowColumns.filter((name) => name !== 'state'), state]));

export function findConnectSessionRow(db: Db, scope: OrgScope, id: string): Promise<ConnectSessionRow | undefined> {
  return ofOrg(db, scope)
    .select([...rowColumns.filter((name) => name !== 'state'), state])
    .where('id', '=', id)
    .executeTakeFirst();
}

export async function findConnectSession(db: Db, scope: OrgScope, id: string): Promise<ConnectSession | undefined> {
  return toSession(await selectWork(db, scope, id).executeTakeFirst());
}

/** No other transaction changes it until this one ends. */
export async function lockConnectSession(tx: Db, scope: OrgScope, id: string): Promise<ConnectSession | undefined> {
  return toSession(await selectWork(tx, scope, id).forNoKeyUpdate().executeTakeFirst());
}

const selectWork = (db: Db, scope: OrgScope, id: string) =>
  ofOrg(db, scope)
    .select([...workColumns.filter((name) => name !== 'state'), state])
    .where('id', '=', id);

type WorkRow = Omit<ConnectSession, 'sealed'> & { [Name in keyof SealedSecret]: SealedSecret[Name] | null };

function toSession(row: WorkRow | undefined): ConnectSession | undefined {
  if (!row) return undefined;
  const { kekId, wrappedKey, nonce, ciphertext, ...session } = row;
  return { ...session, sealed: sealedOf({ kekId, wrappedKey, nonce, ciphertext }) };
}

export interface ConnectCredential {
  readonly orgId: string;
  readonly tokenHash: Buffer;
}

/** Takes no scope: like a credential, it is what a scope is made from. */
export function findConnectCredential(db: Db, id: string): Promise<ConnectCredential | undefined> {
  return db.selectFrom('connectSessions').select(['orgId', 'tokenHash']).where('id', '=', id).executeTakeFirst();
}

/** The pages that may frame an open session; none for any other. Asked by the page before it has the token. */
export async function findAllowedOrigins(db: Db, id: string): Promise<readonly string[]> {
  const found = await db
    .selectFrom('connectSessions')
    .select('allowedOrigins')
    .where('id', '=', id)
    .where(isOpen)
    .executeTakeFirst();
  return found?.allowedOrigins ?? [];
}

/** Stores where the customer is, and that somebody has opened the session. */
export async function noteStep(
  db: Db,
  scope: OrgScope,
  { id, step }: { readonly id: string; readonly step: ConnectStep },
): Promise<void> {
  await update(db, scope, id)
    .set({ step, openedAt: sql<string>`coalesce(opened_at, now())` })
    .where(isOpen)
    .where((eb) => eb.or([eb('step', '<>', step), eb('openedAt', 'is', null)]))
    .execute();
}

/**
 * Takes the right to change the connection of an open session; returns until when, `null` while another request has it.
 */
export async function takeBusy(db: Db, scope: OrgScope, id: string, seconds: number): Promise<string | null> {
  const taken = await update(db, scope, id)
    // As exact as it is read.
    .set({ busyUntil: sql<string>`date_trunc('milliseconds', clock_timestamp()) + make_interval(secs => ${seconds})` })
    .where('state', '=', 'open')
    .where((eb) => eb.or([eb('busyUntil', 'is', null), eb('busyUntil', '<', sql<string>`clock_timestamp()`)]))
    .returning('busyUntil')
    .executeTakeFirst();
  return taken?.busyUntil ?? null;
}

/** Does nothing once another request has it. */
export async function giveBusyBack(db: Db, scope: OrgScope, id: string, busyUntil: string): Promise<void> {
  await update(db, scope, id).set({ busyUntil: null }).where('busyUntil', '=', busyUntil).execute();
}

/** Open sessions of a connection that was there before. */
export function findOpenSessionsOf(
  tx: Db,
  scope: OrgScope,
  { connectionId, fromEmbed }: { readonly connectionId: string; readonly fromEmbed: boolean },
): Promise<readonly { readonly id: string }[]> {
  return ofOrg(tx, scope)
    .select('id')
    .where('connectionId', '=', connectionId)
    .where('specId', 'is', null)
    .where('fromEmbed', '=', fromEmbed)
    .where('state', '=', 'open')
    .execute();
}

/** Attaches the connection that a session has made. */
export async function attachConnection(
  tx: Db,
  scope: OrgScope,
  { id, connectionId }: { readonly id: string; readonly connectionId: string },
): Promise<void> {
  await update(tx, scope, id).set({ connectionId }).execute();
}

interface NewAttempt {
  readonly id: string;
  /** Absent: what is sealed stays. */
  readonly sealed?: SealedSecret;
  readonly problem: ConnectProblem | null;
}

/** Other values or grants: earlier tests, problems and codes count no more. */
export async function beginAttempt(tx: Db, scope: OrgScope, { id, sealed, problem }: NewAttempt): Promise<void> {
  await update(tx, scope, id)
    .set((eb) => ({
      attemptNo: eb('attemptNo', '+', 1),
      tested: [],
      confirmHash: null,
      problemJson: problem === null ? null : JSON.stringify(problem),
      ...(sealed === undefined ? {} : sealedColumns(sealed)),
    }))
    .where('state', '=', 'open')
    .execute();
}

/** Stores that one part works, unless values or grants have changed meanwhile. */
export async function noteTested(
  db: Db,
  scope: OrgScope,
  { id, attemptNo, part }: Pick<ConnectSession, 'id' | 'attemptNo'> & { readonly part: string },
): Promise<void> {
  await update(db, scope, id)
    .set({ tested: sql<string[]>`array_append(array_remove(tested, ${part}), ${part})`, problemJson: null })
    .where('state', '=', 'open')
    .where('attemptNo', '=', attemptNo)
    .execute();
}

/** Stores why an act failed, unless values or grants have changed meanwhile. */
export async function noteProblem(
  db: Db,
  scope: OrgScope,
  { id, attemptNo, problem }: Pick<ConnectSession, 'id' | 'attemptNo'> & { readonly problem: ConnectProblem | null },
): Promise<void> {
  await update(db, scope, id)
    .set({ problemJson: problem === null ? null : JSON.stringify(problem) })
    .where('state', '=', 'open')
    .where('attemptNo', '=', attemptNo)
    .execute();
}

/** The customer is sent back with a code; a later one takes its place. */
export async function awaitConfirmation(
  db: Db,
  scope: OrgScope,
  { id, attemptNo, confirmHash }: Pick<ConnectSession, 'id' | 'attemptNo'> & { readonly confirmHash: Buffer },
): Promise<boolean> {
  const { numUpdatedRows } = await update(db, scope, id)
    .set({ confirmHash, step: 'confirm', problemJson: null })
    .where(isOpen)
    .where('attemptNo', '=', attemptNo)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/** Ends an open session and removes what is sealed in it; `false` if it had ended. */
export async function endConnectSession(
  db: Db,
  scope: OrgScope,
  { id, state: ended }: { readonly id: string; readonly state: Exclude<ConnectSessionState, 'open'> },
): Promise<boolean> {
  const { numUpdatedRows } = await update(db, scope, id)
    .set(endColumns(ended))
    .where('state', '=', 'open')
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/** With its connection, sessions of it end too; that which has made it forgets it, and is kept. */
export async function endConnectSessionsOf(tx: Db, scope: OrgScope, connectionId: string): Promise<void> {
  await tx
    .updateTable('connectSessions')
    .set({
      ...endColumns('canceled'),
      state: sql<ConnectSessionState>`case when expires_at <= now() then 'expired' else 'canceled' end`,
      connectionId: sql<string | null>`case when spec_id is null then connection_id end`,
    })
    .where('orgId', '=', scope.orgId)
    .where('connectionId', '=', connectionId)
    .where('state', '=', 'open')
    .execute();
}

const endColumns = (ended: Exclude<ConnectSessionState, 'open'>) => ({
  state: ended,
  step: 'done' as const,
  endedAt: sql<string>`now()`,
  confirmHash: null,
  busyUntil: null,
  kekId: null,
  wrappedKey: null,
  nonce: null,
  ciphertext: null,
  ...(ended === 'connected' ? { problemJson: null } : {}),
});

export interface ExpiredSession {
  readonly id: string;
  readonly orgId: string;
}

/** Open sessions whose time is over, and which no request is at work with. */
export function findExpiredSessions(db: Db, limit: number): Promise<readonly ExpiredSession[]> {
  return db
    .selectFrom('connectSessions')
    .select(['id', 'orgId'])
    .where('state', '=', 'open')
    .where('expiresAt', '<=', sql<string>`now()`)
    .where((eb) => eb.or([eb('busyUntil', 'is', null), eb('busyUntil', '<', sql<string>`clock_timestamp()`)]))
    .orderBy('expiresAt')
    .limit(limit)
    .execute();
}

/** The connection that a session has made and that exists; `null` if there is none. */
export async function findOwnConnection(
  db: Db,
  scope: OrgScope,
  sessionId: string,
): Promise<{ readonly id: string; readonly status: ConnectionStatus } | null> {
  const own = await db
    .selectFrom('connectSessions')
    .innerJoin('connections', 'connections.id', 'connectSessions.connectionId')
    .select(['connections.id', 'connections.status'])
    .where('connectSessions.orgId', '=', scope.orgId)
    .where('connections.orgId', '=', scope.orgId)
    .where('connectSessions.id', '=', sessionId)
    .where('connectSessions.specId', 'is not', null)
    .where('connections.deletedAt', 'is', null)
    .executeTakeFirst();
  return own ?? null;
}

/** Changes only what is sealed. */
export async function putHeld(
  tx: Db,
  scope: OrgScope,
  { id, sealed }: { readonly id: string; readonly sealed: SealedSecret },
): Promise<void> {
  await update(tx, scope, id).set(sealedColumns(sealed)).where('state', '=', 'open').execute();
}

/** The params that the customer entered, so that a later session asks for them again. */
export async function putCustomerParams(
  db: Db,
  scope: OrgScope,
  { connectionId, keys }: { readonly connectionId: string; readonly keys: readonly string[] },
): Promise<void> {
  await db
    .updateTable('connections')
    .set({ customerParams: [...keys] })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', connectionId)
    .execute();
}

export async function findCustomerParams(db: Db, scope: OrgScope, connectionId: string): Promise<readonly string[]> {
  const row = await db
    .selectFrom('connections')
    .select('customerParams')
    .where('orgId', '=', scope.orgId)
    .where('id', '=', connectionId)
    .executeTakeFirst();
  return row?.customerParams ?? [];
}

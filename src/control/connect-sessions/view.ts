import { noteStep } from '../../../db/queries/connect-sessions/sessions.ts';
import { readLook } from '../../../db/queries/connect-sessions/settings.ts';
import type { OrgScope } from '../../../db/scope.ts';
import { AppError } from '../../core/errors.ts';
import type { ConnectField, ConnectStep, ConnectView } from '../../core/resources/connect-session.ts';
import type { ConnectionParam } from '../../core/spec/schema/param-schema.ts';
import type { GrantDeps } from '../oauth/grant.ts';
import { type Consents, consentsOf } from './consents.ts';
import { type OpenedSession, openSession, type SessionKey } from './open-session.ts';

/** What the customer sees. Throws not_found, conflict. */
export async function viewSession(deps: GrantDeps, key: SessionKey): Promise<ConnectView> {
  const { scope } = key;
  const opened = await openSession(deps, key);
  const { session, held, spec } = opened;
  const look = await readLook(deps.db, scope);
  const { consents, step } = await standOf(deps, scope, opened);
  if (session.state === 'open') await noteStep(deps.db, scope, { id: session.id, step });
  return {
    id: session.id,
    state: session.state,
    step,
    connector: spec.metadata.name,
    org: look,
    fields: session.state === 'open' ? fieldsOf(opened) : [],
    consents: { given: consents.needed - consents.missing.length, needed: consents.needed },
    needsProof: Object.keys(held.proofs).length > 0,
    tested: session.tested.filter((part) => part === 'source' || part === 'destination'),
    problem: session.problem?.code ?? null,
    connectionId: session.state === 'connected' ? session.connectionId : null,
    allowedOrigins: [...session.allowedOrigins],
    returns: session.returnUrl !== null,
    expiresAt: session.expiresAt,
  };
}

interface Stand {
  readonly step: ConnectStep;
  readonly consents: Consents;
}

/** Where the customer is, by what is there. */
export async function standOf(deps: GrantDeps, scope: OrgScope, opened: OpenedSession): Promise<Stand> {
  const { session, held, connection } = opened;
  const nothing = { needed: 0, missing: [], waiting: new Map() };
  if (session.state !== 'open') return { step: 'done', consents: nothing };
  const isEntered =
    session.specId === null ? held.entered !== null || session.askedParams.length === 0 : connection !== null;
  if (!isEntered) return { step: 'values', consents: nothing };
  try {
    const consents = await consentsOf(deps, scope, opened);
    if (consents.missing.length > 0) return { step: 'authorize', consents };
    return { step: session.confirmHash === null ? 'test' : 'confirm', consents };
  } catch (error) {
    // The connection or its spec has changed meanwhile: other values may fit.
    if (!(error instanceof AppError) || error.code === 'internal') throw error;
    return { step: 'values', consents: nothing };
  }
}

/** Only what the customer is asked for. */
export function askedOf({ session, spec }: Pick<OpenedSession, 'session' | 'spec'>): readonly ConnectionParam[] {
  const asked = new Set(session.askedParams);
  return spec.connectionParams.filter(({ key }) => asked.has(key));
}

function fieldsOf(opened: OpenedSession): ConnectField[] {
  const { params, secrets } = opened.values;
  return askedOf(opened).map((param) => {
    const { key, secret, required } = param;
    const stored = (secret ? secrets : params)[key];
    return {
      key,
      label: param.label ?? key,
      description: param.description ?? null,
      example: param.example ?? null,
      helpUrl: param.helpUrl ?? null,
      type: param.type,
      format: param.format ?? null,
      pattern: param.pattern ?? null,
      choices: param.enum ?? null,
      minLength: param.minLength ?? null,
      maxLength: param.maxLength ?? null,
      min: param.min ?? null,
      max: param.max ?? null,
      required: required && param.default === undefined,
      secret,
      value: secret ? null : (stored ?? param.default ?? null),
      isStored: stored !== undefined,
    };
  });
}

import { noteStep, noteTested } from '../../../db/queries/connect-sessions/sessions.ts';
import { conflict } from '../../core/errors.ts';
import type { ConnectTest } from '../../core/resources/connect-session.ts';
import { isWithin, valuesNamedAt } from '../../core/spec/connection/mentions.ts';
import { type ConnectionTestDeps, testConnection } from '../connections/test-connection.ts';
import type { GrantDeps } from '../oauth/grant.ts';
import { alone, keepProblem, type OpenedSession, openSession, requireOpen, type SessionKey } from './open-session.ts';
import { askedOf, standOf } from './view.ts';

/** As {@link testPart}; one at a time, since each reads from the API of others. */
export const testSession: typeof testPart = (deps, key, part) => alone(deps, key, () => testPart(deps, key, part));

/**
 * Tests one part with what the connection would have. The words of a failure are for the org alone, as they may name what
 * it has fixed. Throws conflict (nothing to test yet).
 */
async function testPart(
  deps: ConnectionTestDeps & GrantDeps,
  key: SessionKey,
  part: ConnectTest['step'],
): Promise<ConnectTest> {
  const { scope } = key;
  const opened = await openSession(deps, key);
  const { session, connection, values } = opened;
  requireOpen(session);
  const { step, consents } = await standOf(deps, scope, opened);
  if (!connection || step === 'values') throw conflict('Enter the values first, then test.');
  if (step === 'authorize') throw conflict('Consent at the provider first, then test.');
  await noteStep(deps.db, scope, { id: session.id, step });
  const tokens = new Map([...consents.waiting].map(([slot, { store }]) => [slot, store]));
  const { test } = await testConnection(deps, scope, {
    connectionId: connection.id,
    resourceKey: firstResource(opened),
    only: part,
    candidate: { values, tokens },
  });
  const failed = test.steps.find(({ ok }) => !ok);
  const durationMs = test.steps.reduce((sum, one) => sum + one.durationMs, 0);
  const isTheirs = part === 'source' ? askedOf(opened).length > 0 || consents.needed > 0 : entersDestination(opened);
  if (failed) {
    const { code, message } = failed;
    await keepProblem(deps, scope, {
      ...session,
      problem: { code: code ?? 'internal', message: `${part}: ${message}` },
    });
    return { step: part, ok: false, code: code ?? 'internal', durationMs, isTheirs };
  }
  await noteTested(deps.db, scope, { ...session, part });
  return { step: part, ok: true, code: null, durationMs, isTheirs };
}

/** One that will be read, if the org says which. */
function firstResource({ session, spec }: OpenedSession): string | null {
  const named = session.resourceKeys[0] ?? session.schedulesJson[0]?.resourceKey;
  return spec.resources.find(({ key }) => key === named)?.key ?? null;
}

/** Whether a value that the customer enters decides where the records go. */
function entersDestination({ session, spec }: OpenedSession): boolean {
  const named = valuesNamedAt(spec, isWithin(['destination']));
  return session.askedParams.some((key) => named.has(key) || named.has(null));
}

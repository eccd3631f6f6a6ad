import { findExpiredSessions } from '../../db/queries/connect-sessions/sessions.ts';
import { orgScope } from '../../db/scope.ts';
import { endUnfinished } from '../control/connect-sessions/create-session.ts';
import type { GrantDeps } from '../control/oauth/grant.ts';
import type { RunDeps } from '../control/runs/runs.ts';

const sessionsMax = 100;

/** With a session that nobody finished, the connection that it made goes too. */
export async function endExpiredSessions(deps: RunDeps & GrantDeps): Promise<void> {
  for (const { id, orgId } of await findExpiredSessions(deps.db, sessionsMax)) {
    try {
      await endUnfinished(deps, orgScope(orgId), { id, state: 'expired' });
    } catch (error) {
      deps.log.warn('expired connect session not ended; the next round tries again', { sessionId: id, error });
    }
  }
}

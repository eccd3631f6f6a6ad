import { lockEndpoint } from '../../../db/queries/webhooks/endpoints.ts';
import { findRecovery, insertRecovery, type RecoveryRequest } from '../../../db/queries/webhooks/recoveries.ts';
import type { OrgScope } from '../../../db/scope.ts';
import { found, type Issue, invalid, schemaIssue } from '../../core/errors.ts';
import type { WebhookRecovery } from '../../core/resources/webhook-endpoint.ts';
import { type WakeDeps, wakeEndpoints } from '../../dispatch/wake-endpoints.ts';
import { requireTurn } from '../orgs/org-limits.ts';
import { type WriteDeps, write } from '../orgs/write.ts';

const rangeDaysMax = 30;
const rangeMsMax = rangeDaysMax * 24 * 3_600_000;

/**
 * Makes past events due again at an endpoint, in the order in which they happened. Throws not_found, validation (a range that
 * is empty or longer than {@link rangeDaysMax}), rate_limited.
 */
export async function recoverEndpoint(
  deps: WakeDeps & WriteDeps,
  scope: OrgScope,
  request: RecoveryRequest,
): Promise<WebhookRecovery> {
  const recovery = await write(deps, async (tx) => {
    await requireTurn(tx, scope, 'recoveries');
    found(await lockEndpoint(tx, scope, request.endpointId), 'Webhook endpoint');
    const issues = rangeIssues(request);
    if (issues.length > 0) throw invalid('The range is not valid.', issues);
    return found(await findRecovery(tx, scope, await insertRecovery(tx, scope, request)), 'Webhook recovery');
  });
  void wakeEndpoints(deps, scope);
  return recovery;
}

function rangeIssues({ since, until }: Pick<RecoveryRequest, 'since' | 'until'>): readonly Issue[] {
  const rangeMs = Date.parse(until) - Date.parse(since);
  const issue =
    rangeMs <= 0
      ? 'is not before `until`'
      : rangeMs > rangeMsMax
        ? `is more than ${rangeDaysMax} days before \`until\``
        : '';
  return issue === '' ? [] : [schemaIssue('since', issue)];
}

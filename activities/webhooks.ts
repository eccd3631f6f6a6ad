import { Context } from '@temporalio/activity';
import { postsMax } from '../src/core/deliveries/posts-max.ts';
import { createWebhookSender } from '../src/core/http/webhook-post.ts';
import { createOrgSlots } from '../src/core/work/org-slots.ts';
import type { Deps } from '../src/deps.ts';
import type { DrainResult, WebhookEndpointInput } from '../workflows/contract.ts';
import { throwUnlessShutdown } from './canceling.ts';
import { drain } from './drain.ts';
import { withFailures } from './failures.ts';

/** Milliseconds between two heartbeats, less than half of their timeout. */
const heartbeatMs = 5000;

export function createWebhookActivities(deps: Deps) {
  const drainDeps = { ...deps, send: createWebhookSender(deps.egress), slots: createOrgSlots(postsMax) };
  return {
    /**
     * Safe to run twice: the claims of a dead worker are sent again under the same ids once its lease expires
     * (test/crash/webhook-deliveries.test.ts). Each event is claimed by one of several concurrent drains
     * (test/contract/webhook-claims.test.ts). A worker that shuts down finishes requests in progress and returns as if
     * nothing more waited.
     */
    async drainEndpoint(input: WebhookEndpointInput): Promise<DrainResult> {
      const context = Context.current();
      const { cancellationSignal } = context;
      using _beat = setInterval(() => context.heartbeat(), heartbeatMs);
      const report = { write: deps.log.error, message: 'events of the endpoint not delivered' };
      return await withFailures(report, async () => {
        const result = await drain(drainDeps, input, cancellationSignal);
        if (result.sent > 0) deps.log.info('events sent', { ...result });
        throwUnlessShutdown(cancellationSignal);
        return result;
      });
    },
  };
}

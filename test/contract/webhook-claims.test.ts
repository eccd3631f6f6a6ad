/** Several drains of one endpoint at the same time, as after a lost heartbeat: each event is claimed by one of them. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { insertRequestedDelivery } from '../../db/queries/webhooks/deliveries.ts';
import { type ClaimedAttempt, claimDue, claimOldest, claimRequested } from '../../db/queries/webhooks/queue.ts';
import { orgScope } from '../../db/scope.ts';
import { startApi, type TestApi } from '../support/service/api.ts';
import { createEndpoint, happen, receiverUrl } from '../support/webhooks/webhook-rows.ts';

let api: TestApi;

beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api[Symbol.asyncDispose]());

const events = 24;
const drains = 4;

test.for(['due', 'oldest', 'requested'] as const)(
  'each event is claimed by one of the drains that claim at the same time (%s)',
  async (kind) => {
    const { db } = api.deps;
    const org = await api.newOrg();
    const scope = orgScope(org.orgId);
    const { id: endpointId } = await createEndpoint(org, { eventTypes: ['run.succeeded'] });
    const ids: string[] = [];
    for (let n = 0; n < events; n += 1) ids.push(await happen(api, org));
    if (kind === 'requested') {
      const request = { endpointId, url: receiverUrl, trigger: 'redelivery', redeliveryOf: null } as const;
      for (const eventId of ids) await insertRequestedDelivery(db, scope, { ...request, eventId });
    }
    const drain = async (leaseToken: string): Promise<readonly ClaimedAttempt[]> => {
      const claim = { endpointId, limit: 5, leaseMs: 60_000, leaseToken };
      const mine: ClaimedAttempt[] = [];
      for (;;) {
        const claimed =
          kind === 'due'
            ? await claimDue(db, scope, claim)
            : kind === 'oldest'
              ? await claimOldest(db, scope, { claim, probing: false })
              : await claimRequested(db, scope, claim);
        if (claimed.length === 0) return mine;
        mine.push(...claimed);
      }
    };
    const byDrain = await Promise.all(Array.from({ length: drains }, (_unused, n) => drain(`drain ${n}`)));
    const claimed = byDrain.flat().map(({ eventId }) => eventId);
    // The next of an ordered queue waits until the one before is taken.
    expect(claimed.toSorted()).toEqual(kind === 'oldest' ? [ids[0]] : ids.toSorted());
  },
);

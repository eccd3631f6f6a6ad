/**
 * The queries that have no scope, as `folder/file.function` of `db/queries`, with the reason. Everything else in there takes an
 * `OrgScope` and touches rows of its org only; both are tested (`db/query-scopes.test.ts`, `row-security.ts`).
 */
export const queriesAcrossOrgs: ReadonlyMap<string, string> = new Map(
  Object.entries({
    'orgs/credentials.findCredentials': 'the key says which org it is',
    'orgs/credentials.touchCredential': 'the id is of the key that was just verified',
    'hooks/hooks.findHooksByToken': 'the token says which org it is',
    'connections/oauth-states.takeOauthState': 'the state says which org it is',

    'orgs/orgs.insertOrg': 'operator: makes the org',
    'orgs/orgs.findOrg': 'operator',
    'orgs/orgs.listOrgs': 'operator',
    'orgs/canary.keepCanary': 'the canary of the key ring belongs to no org',
    'orgs/canary.findCanary': 'the canary of the key ring belongs to no org',
    'orgs/canary.putCanaryKey': 'the canary of the key ring belongs to no org',
    'connections/sealed-values.countSealed': 'operator: counts only',
    'connections/sealed-values.findOtherwiseWrapped': 'operator: ids only',

    'runs/maintenance/backlog.readBacklog': 'metrics: counts and ages only',
    'runs/maintenance/backlog.findLastDispatched': 'operator: ids and times only',
    'runs/maintenance/sweep.findUndispatchedRuns': 'sweeper: ids only',
    'runs/maintenance/sweep.findSilentRuns': 'sweeper: ids only',
    'runs/maintenance/sweep.findSchedulesToApply': 'sweeper: ids only',
    'runs/maintenance/sweep.findSchedulesToAsk': 'sweeper: ids only',
    'runs/maintenance/sweep.findLiveSchedules': 'sweeper: ids only',
    'runs/maintenance/sweep.findEndpointsToWake': 'sweeper: ids only',
    'runs/maintenance/restored.findOpenRuns': 'operator: ids only',
    'runs/maintenance/restored.findUsedLanes': 'operator: ids only',
    'webhooks/events.advanceSequences': 'operator: after a restore of the control database',
    'webhooks/queue.countPendingMessages': 'operator: ids and counts only',
    'connections/overdue.findOverdueFlips': 'sweeper: ids only',
    'hooks/hook-requests.findOverdueResources': 'sweeper: ids only',
    'connections/purge.findPurgeableConnections': 'sweeper: ids only',

    'hooks/hook-requests.purgeHookRequests': 'removes by age alone',
    'orgs/idempotency.purgeIdempotencyKeys': 'removes by age alone',
    'runs/lookup-cache.purgeLookupValues': 'removes by age alone',
    'connections/pending-grants.takeDeadGrants': 'removes by age alone',
    'connections/oauth-states.purgeOauthStates': 'removes by age alone',
    'maintenance/partitions.findPartitions': 'reads the catalog alone',
    'maintenance/partitions.addPartition': 'makes a table',
    'maintenance/partitions.dropPartition': 'removes by age alone',
    'maintenance/retention.purgeCalls': 'removes by age alone',
    'maintenance/retention.purgeResolved': 'removes by age alone',
    'maintenance/retention.purgePages': 'removes by age alone',
    'maintenance/retention.purgeDimensions': 'removes by age alone',
    'maintenance/retention.purgeRecoveries': 'removes by age alone',
    'maintenance/retention.purgeEvents': 'removes by age alone',
    'maintenance/retention.purgeEndpoints': 'removes by age alone',
    'webhooks/signing-secrets.purgeSigningSecrets': 'removes by age alone',
  }),
);

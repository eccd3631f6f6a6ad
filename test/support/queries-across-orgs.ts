/**
 * The queries that have no scope, as `file.function` of `db/queries`, with the reason. Everything else in there takes an
 * `OrgScope` and touches rows of its org only; both are tested (`db/query-scopes.test.ts`, `row-security.ts`).
 */
export const queriesAcrossOrgs: ReadonlyMap<string, string> = new Map(
  Object.entries({
    'credentials.findCredential': 'the key says which org it is',
    'credentials.touchCredential': 'the id is of the key that was just verified',
    'hooks.findHookByToken': 'the token says which org it is',
    'oauth-states.takeOauthState': 'the state says which org it is',

    'orgs.insertOrg': 'operator: makes the org',
    'orgs.findOrg': 'operator',
    'orgs.listOrgs': 'operator',
    'canary.keepCanary': 'the canary of the key ring belongs to no org',
    'canary.putCanaryKey': 'the canary of the key ring belongs to no org',
    'sealed-values.countSealed': 'operator: counts only',
    'sealed-values.findOtherwiseWrapped': 'operator: ids only',

    'sweep.findUndispatchedRuns': 'sweeper: ids only',
    'sweep.findSilentRuns': 'sweeper: ids only',
    'sweep.findSchedulesToApply': 'sweeper: ids only',
    'sweep.findSchedulesToAsk': 'sweeper: ids only',
    'sweep.findLiveSchedules': 'sweeper: ids only',
    'sweep.findEndpointsToWake': 'sweeper: ids only',
    'overdue.findOverdueFlips': 'sweeper: ids only',
    'overdue.findSchedulesWithoutGap': 'sweeper: ids and cron expressions only',
    'hook-requests.findOverdueResources': 'sweeper: ids only',
    'purge.findPurgeableConnections': 'sweeper: ids only',

    'hook-requests.purgeHookRequests': 'removes by age alone',
    'idempotency.purgeIdempotencyKeys': 'removes by age alone',
    'lookup-cache.purgeLookupValues': 'removes by age alone',
    'oauth-states.purgeOauthStates': 'removes by age alone',
    'retention.purgeCalls': 'removes by age alone',
    'retention.purgeResolved': 'removes by age alone',
    'retention.purgePages': 'removes by age alone',
    'retention.purgeDimensions': 'removes by age alone',
    'retention.purgeRecoveries': 'removes by age alone',
    'retention.purgeEvents': 'removes by age alone',
    'retention.purgeEndpoints': 'removes by age alone',
    'webhook-secrets.purgeSigningSecrets': 'removes by age alone',
  }),
);

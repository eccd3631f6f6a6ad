/** Statements that meet more, by what they are for. */
export const unbounded: ReadonlyMap<string, string> = new Map(
  Object.entries({
    'runs/records/missing-records.countMissing': 'a full scan compares every record of its lane',
    'runs/records/missing-records.countKnown': 'the brake compares with every record of its lane',
    'runs/records/missing-records.hidesMissing': 'a read with gaps looks for a record that one may hide',
    'runs/records/missing-records.findMissing': 'a full scan compares every record of its lane',
    'runs/run-activity.readRunActivity': 'the runs of the last hours are counted',
    'webhooks/endpoints.readEndpointStats': 'the attempts of the last hours are counted',
  }),
);

/** Files whose tables do not grow with time, or whose rows are few for each run and go with it. */
export const small: ReadonlyMap<string, string> = new Map(
  Object.entries({
    'connect-sessions/settings': 'a row for each org',
    'connections/buckets': 'a bucket for each connection',
    'connections/found-connections': 'operator: goes through all connections',
    'connections/oauth-states': 'authorizations under way',
    'connections/pending-grants': 'grants that wait to be confirmed',
    'connections/purge': 'deletes all that a connection has',
    'connections/sealed-columns': 'no query',
    'connections/sealed-texts': 'operator: goes through all texts in which sealed ones stand',
    'connections/sealed-values': 'operator: goes through all secrets',
    'connections/secrets': 'a secret for each connection',
    'connections/tokens': 'a token for each connection',
    'orgs/authorization-settings': 'a row for each org',
    'orgs/canary': 'a row for each key',
    'orgs/oauth-apps': 'a hundred apps for each org; its connections are counted when an app changes',
    'orgs/orgs': 'operator: orgs',
    'maintenance/partitions': 'the catalog',
    'runs/batches/batch-owner': 'a lane',
    'runs/lanes/forget-records': 'changes all that a lane has',
    'runs/lanes/forget-lane': 'deletes all that a lane has',
    'runs/lanes/conform-lane': 'a lane',
    'runs/take-up-access': 'a run',
    'runs/lanes/leftovers': 'writes states by their keys',
    'runs/lookup-cache': 'found by its key, and removed by its time',
    'runs/batches/outbox': 'a batch for each lane',
    'runs/lanes/new-generation': 'no query',
    'runs/lanes/written-columns': 'a row for each lane',
    'runs/records/own-lane': 'no query',
    'runs/run-columns': 'no query',
    'webhooks/signing-secrets': 'two secrets for each endpoint',
  }),
);

/** The files that make an `OrgScope`, and where each has the id of the org from. `db/query-scopes.test.ts` compares them. */
export const scopeMakers: ReadonlyMap<string, string> = new Map(
  Object.entries({
    'src/api/auth.ts': 'the row of the API key that was verified',
    'src/api/embed-auth.ts': 'the embed token whose signature was verified',
    'src/api/connect-auth.ts': 'the session whose token was verified',
    'src/control/oauth/oauth.ts': 'the state that was issued to the org and is taken once',
    'src/control/hooks/inbound.ts': 'the row of the hook whose token the request has',
    'src/control/orgs/orgs.ts': 'the org that was just created',
    'src/control/orgs/key-rotation.ts': 'the rows whose keys are rotated',
    'src/control/orgs/text-rotation.ts': 'the rows whose keys are rotated',

    'activities/drain.ts': 'the input of the workflow of an endpoint',
    'activities/inbound-hooks.ts': 'the input of the workflow of a hook',
    'activities/run-lifecycle.ts': 'the input of the workflow of a run',
    'activities/schedules.ts': 'the input of the workflow of a schedule',
    'activities/sync-chunk.ts': 'the input of the workflow of a run',
    'activities/sync-pages.ts': 'the input of the workflow of a run',

    'src/control/connections/retest.ts': 'the connections whose test is due',
    'src/control/oauth/keep-alive.ts': 'the tokens that are due',
    'src/maintenance/connect-sweep.ts': 'the sessions that were found',
    'src/maintenance/grant-sweep.ts': 'the grants that were removed',
    'src/maintenance/missed-sweep.ts': 'the schedules that were found',
    'src/maintenance/overdue-sweep.ts': 'the connections that were found',
    'src/maintenance/purge-sweep.ts': 'the deleted connections that were found',
    'src/maintenance/run-sweep.ts': 'the runs that were found',
    'src/maintenance/schedule-sweep.ts': 'the schedules that were found',

    'src/admin/commands.ts': 'the org that the operator names, once it is found',
    'src/admin/payload-keys.ts': 'the schedules that were found',
    'src/admin/reconcile.ts': 'the runs and lanes that were found',
    'src/admin/doctor/check-temporal.ts': 'the run that was found',
  }),
);

import * as v from 'valibot';
import { JsonObject } from '../json/json-object.ts';
import { ChangePlan } from './spec.ts';
import { Timestamp } from './values.ts';
import { WorkspaceRow } from './workspace.ts';

/** `pending`: never activated; `error`: credentials or destination refused; only `active` syncs. */
export const ConnectionStatus = v.pipe(v.picklist(['pending', 'active', 'paused', 'error']), v.examples(['active']));
export type ConnectionStatus = v.InferOutput<typeof ConnectionStatus>;

/** An account at a provider that granted access to a connection. */
export const ConnectedAccount = v.object({
  resource: v.pipe(
    v.nullable(v.string()),
    v.description('The resource with a grant of its own; null: the connection.'),
  ),
  values: v.pipe(
    v.record(v.string(), v.string()),
    v.description('What the provider tells of it: the values that `auth.account` of the spec names.'),
  ),
});
export type ConnectedAccount = v.InferOutput<typeof ConnectedAccount>;

export const ConnectionError = v.object({
  code: v.pipe(v.string(), v.description('As in the error of a run.'), v.examples(['auth_failed'])),
  message: v.string(),
  resourceKey: v.pipe(v.string(), v.description('The resource whose run failed.'), v.examples(['contacts'])),
  since: Timestamp,
  nextTestAt: v.pipe(
    v.nullable(Timestamp),
    v.description(
      'When it is tested again; it is active again if that succeeds. Null: it is not tested by itself, since only a person can mend it or see whether it is mended.',
    ),
  ),
});
export type ConnectionError = v.InferOutput<typeof ConnectionError>;

export const ErrorAfterMinutes = v.pipe(
  v.number(),
  v.integer(),
  v.minValue(0),
  v.maxValue(7 * 24 * 60),
  v.description(
    'How long runs of a resource may be refused by the API or the destination before the connection is in error, and its schedules stop. 0: the first refused run is enough.',
  ),
  v.examples([60]),
);

/** One customer's configured instance of a spec, never with its secrets. */
export const ConnectionRow = v.object({
  id: v.pipe(v.string(), v.examples(['con_01kaemm0dce7xb1k4c1m1f2p3q'])),
  orgId: v.string(),
  workspaceId: WorkspaceRow.entries.id,
  specId: v.string(),
  pinnedSpecVersion: v.pipe(v.string(), v.examples(['1.4.0'])),
  displayName: v.pipe(v.string(), v.examples(['Acme CRM'])),
  externalCustomerId: v.pipe(
    v.nullable(v.string()),
    v.description("The caller's id of the end customer."),
    v.examples(['cust_9']),
  ),
  status: ConnectionStatus,
  error: v.pipe(v.nullable(ConnectionError), v.description('Why it is in error; null: it is not.'), v.examples([null])),
  errorAfterMinutes: ErrorAfterMinutes,
  paramsJson: JsonObject,
  specOverridesJson: v.pipe(
    v.nullable(JsonObject),
    v.description('Keyed merge patch on the pinned spec; null without one.'),
  ),
  accounts: v.pipe(
    v.array(ConnectedAccount),
    v.description('The accounts that its customer connected, where the provider tells.'),
    v.examples([[{ resource: null, values: { realm: '9341453' } }]]),
  ),
});
export type ConnectionRow = v.InferOutput<typeof ConnectionRow>;

export const ConnectionUpdate = v.object({
  ...ConnectionRow.entries,
  applied: v.pipe(v.boolean(), v.description('False for a dry run.')),
  plan: v.pipe(
    v.nullable(ChangePlan),
    v.description('What the change means for each resource; null: it is of names only.'),
  ),
});
export type ConnectionUpdate = v.InferOutput<typeof ConnectionUpdate>;

export const ConnectionTest = v.object({
  ok: v.pipe(v.boolean(), v.description('Every step succeeded.')),
  steps: v.array(
    v.object({
      step: v.pipe(
        v.picklist(['values', 'source', 'destination']),
        v.description(
          'values: spec, params and secrets fit. source: the API accepts the credentials and a first page can be read. destination: it is reachable and accepts the credentials; for a webhook only the address is checked.',
        ),
      ),
      ok: v.boolean(),
      code: v.pipe(v.nullable(v.string()), v.description('As in the error of a run; null when the step succeeded.')),
      message: v.string(),
      durationMs: v.number(),
    }),
  ),
  calls: v.pipe(
    v.array(
      v.object({
        method: v.string(),
        url: v.string(),
        statusCode: v.pipe(v.nullable(v.number()), v.description('Null: no response arrived.')),
        durationMs: v.number(),
        errorCode: v.nullable(v.string()),
      }),
    ),
    v.description('The requests that were sent, redacted.'),
  ),
});
export type ConnectionTest = v.InferOutput<typeof ConnectionTest>;

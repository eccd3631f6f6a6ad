/**
 * The resources of the REST interface, in the order of its specification. Each is a valibot schema and a type of the
 * same name: the API checks and documents with the schema, the database and the engine use the type.
 */
import * as v from 'valibot';
import type { Issue as IssueShape } from './errors.ts';
import { eventTypes } from './events/event-types.ts';
import { Dedupe, Verification } from './hooks/verification-schema.ts';
import { mapOf } from './strict-object.ts';

/** A point in time as ISO 8601 text in UTC. */
export const Timestamp = v.pipe(v.string(), v.description('ISO 8601, UTC.'), v.examples(['2026-03-01T08:30:00.000Z']));

/** Any JSON object; its keys are the customer's own. A list is not one. */
export const JsonObject = mapOf(v.string(), v.unknown());
export type JsonObject = v.InferOutput<typeof JsonObject>;

/** `pending`: never activated; `error`: credentials or destination refused; only `active` syncs. */
export const ConnectionStatus = v.picklist(['pending', 'active', 'paused', 'error']);
export type ConnectionStatus = v.InferOutput<typeof ConnectionStatus>;

/** One customer's configured instance of a spec. Secrets are never part of it. */
export const ConnectionRow = v.object({
  id: v.pipe(v.string(), v.examples(['con_01kaemm0dce7xb1k4c1m1f2p3q'])),
  orgId: v.string(),
  workspaceId: v.string(),
  specId: v.string(),
  pinnedSpecVersion: v.pipe(v.string(), v.examples(['1.4.0'])),
  displayName: v.string(),
  externalCustomerId: v.pipe(v.nullable(v.string()), v.description("The caller's id of the end customer.")),
  status: ConnectionStatus,
  paramsJson: JsonObject,
  specOverridesJson: v.pipe(
    v.nullable(JsonObject),
    v.description('Keyed merge patch on the pinned spec; null without one.'),
  ),
});
export type ConnectionRow = v.InferOutput<typeof ConnectionRow>;

/** What trying a connection came to. */
export const ConnectionTest = v.object({
  ok: v.pipe(v.boolean(), v.description('Every step went well.')),
  steps: v.array(
    v.object({
      step: v.pipe(
        v.picklist(['values', 'source', 'destination']),
        v.description(
          'values: spec, params and secrets fit. source: the credentials are taken and a first page can be read. destination: it can be reached and takes the credentials; of a webhook only the address is judged.',
        ),
      ),
      ok: v.boolean(),
      code: v.pipe(v.nullable(v.string()), v.description('As in the error of a run; null when the step went well.')),
      message: v.string(),
      durationMs: v.number(),
    }),
  ),
  calls: v.pipe(
    v.array(
      v.object({
        method: v.string(),
        url: v.string(),
        statusCode: v.pipe(v.nullable(v.number()), v.description('Null: no answer arrived.')),
        durationMs: v.number(),
        errorCode: v.nullable(v.string()),
      }),
    ),
    v.description('The requests that were sent, redacted.'),
  ),
});
export type ConnectionTest = v.InferOutput<typeof ConnectionTest>;

/** Drafts are mutable; publishing freezes a version; `deprecated` takes no new pins. */
export const SpecVersionStatus = v.picklist(['draft', 'published', 'deprecated']);
export type SpecVersionStatus = v.InferOutput<typeof SpecVersionStatus>;

/** One version of a connector definition. */
export const SpecVersionRow = v.object({
  id: v.pipe(v.string(), v.examples(['specver_01kaemm0dce7xb1k4c1m1f2p3q'])),
  specId: v.string(),
  version: v.pipe(v.string(), v.description('Semver without a build part.'), v.examples(['1.4.0'])),
  specJson: JsonObject,
  status: SpecVersionStatus,
  checksum: v.pipe(v.string(), v.description('`sha256:` and the hex digest of the RFC 8785 form of `specJson`.')),
  publishedAt: v.nullable(Timestamp),
});
export type SpecVersionRow = v.InferOutput<typeof SpecVersionRow>;

/** A connector definition with the versions it has. */
export const SpecRow = v.object({
  id: v.pipe(v.string(), v.examples(['spec_01kaemm0dce7xb1k4c1m1f2p3q'])),
  key: v.pipe(v.string(), v.examples(['acme-crm'])),
  versions: v.pipe(
    v.array(v.object({ version: v.string(), status: SpecVersionStatus })),
    v.description('Newest first.'),
  ),
});
export type SpecRow = v.InferOutput<typeof SpecRow>;

/** One thing wrong with an input; `path` is dotted, with array indexes. */
export const Issue = v.object({
  code: v.picklist(['schema', 'duplicate_key', 'duplicate_assign_to', 'unresolved_dependency', 'cycle']),
  path: v.pipe(v.string(), v.examples(['resources.0.transform'])),
  message: v.string(),
}) satisfies v.GenericSchema<unknown, IssueShape>;
export type Issue = v.InferOutput<typeof Issue>;

/** What judging a candidate spec says. */
export const ValidationResult = v.variant('valid', [
  v.object({ valid: v.literal(true), spec: JsonObject }),
  v.object({ valid: v.literal(false), issues: v.array(Issue) }),
]);
export type ValidationResult = v.InferOutput<typeof ValidationResult>;

const UpgradeClass = v.pipe(
  v.picklist(['compatible', 'resets', 'breaking']),
  v.description('`resets`: the next run starts over. `breaking`: something stops working.'),
);

/** What an upgrade means for one resource. */
const ResourcePlan = v.object({
  resourceKey: v.string(),
  class: UpgradeClass,
  changed: v.pipe(v.array(v.string()), v.description('Fields of the resource that differ.')),
  resets: v.pipe(
    v.picklist(['nothing', 'watermark', 'state']),
    v.description('What the next run forgets first; `state`: every known record and the watermark.'),
  ),
  redelivers: v.pipe(
    v.picklist(['nothing', 'fetched', 'everything']),
    v.description(
      'Records delivered again although they did not change; `fetched`: those that a run happens to fetch.',
    ),
  ),
  backfillRecommended: v.pipe(v.boolean(), v.description('Delivered records keep their old form until then.')),
  rekeyedTable: v.pipe(v.nullable(v.string()), v.description('The table whose upsert keys change; null: none.')),
  effect: v.pipe(v.string(), v.description('The same in words.')),
});

/** What an upgrade of a connection's spec did, or would do. */
export const SpecUpgrade = v.object({
  connectionId: v.string(),
  from: v.pipe(v.string(), v.examples(['1.0.0'])),
  to: v.pipe(v.string(), v.examples(['1.1.0'])),
  applied: v.pipe(v.boolean(), v.description('False for a dry run.')),
  plan: v.object({
    class: UpgradeClass,
    changed: v.pipe(v.array(v.string()), v.description('Parts of the spec beside its resources that differ.')),
    resources: v.array(ResourcePlan),
    backfillRecommended: v.boolean(),
    issues: v.pipe(v.array(Issue), v.description('Why it cannot be applied; empty when it can.')),
  }),
});
export type SpecUpgrade = v.InferOutput<typeof SpecUpgrade>;

/** Why a run exists. */
export const RunTrigger = v.picklist(['manual', 'schedule', 'webhook', 'backfill']);
export type RunTrigger = v.InferOutput<typeof RunTrigger>;

/** `succeeded`, `partial`, `failed` and `canceled` are final; `partial`: not every fetched record was delivered. */
export const RunStatus = v.picklist(['queued', 'running', 'succeeded', 'failed', 'partial', 'canceled']);
export type RunStatus = v.InferOutput<typeof RunStatus>;

const Count = v.pipe(v.number(), v.integer(), v.minValue(0));

/** Record counts of a run: `recordsIn = recordsOut + skipped + quarantined +` records deleted by a flag. */
export const RunStats = v.object({
  recordsIn: v.pipe(Count, v.description('Records selected from responses, and quarantined ones retried.')),
  recordsOut: v.pipe(Count, v.description('Records acknowledged by the destination.')),
  skipped: v.pipe(Count, v.description('Unchanged, filtered, stale or repeated records.')),
  deleted: v.pipe(Count, v.description('Deletions acknowledged by the destination.')),
  quarantined: v.pipe(Count, v.description('Records stored as quarantined instead of delivered.')),
});
export type RunStats = v.InferOutput<typeof RunStats>;

/** One execution of a sync of one resource of a connection. */
export const RunRow = v.object({
  id: v.pipe(v.string(), v.examples(['run_01kaemm0dce7xb1k4c1m1f2p3q'])),
  connectionId: v.string(),
  resourceKey: v.pipe(v.string(), v.examples(['contacts'])),
  trigger: RunTrigger,
  status: RunStatus,
  startedAt: v.pipe(v.nullable(Timestamp), v.description('Null while queued.')),
  finishedAt: v.pipe(v.nullable(Timestamp), v.description('Null until the status is final.')),
  statsJson: RunStats,
  watermarkBefore: v.pipe(v.nullable(v.string()), v.description('Null: no incremental sync has finished yet.')),
  watermarkAfter: v.nullable(v.string()),
  error: v.pipe(
    v.nullable(v.object({ code: v.pipe(v.string(), v.examples(['source_rejected'])), message: v.string() })),
    v.description(
      'Why the run failed and what to do about it. While it runs: why its last attempt failed, which is tried again.',
    ),
  ),
});
export type RunRow = v.InferOutput<typeof RunRow>;

/** The redacted log of one outbound HTTP request of a run. */
export const CallLogRow = v.object({
  id: v.string(),
  runId: v.string(),
  sequence: v.pipe(v.number(), v.description('Position in the run, from 1.')),
  method: v.string(),
  url: v.string(),
  statusCode: v.pipe(v.nullable(v.number()), v.description('Null: no answer arrived.')),
  durationMs: v.nullable(v.number()),
  attempt: v.pipe(v.number(), v.description('From 1.')),
  cacheHit: v.boolean(),
  reqHeadersRedacted: JsonObject,
  reqBodyRedacted: v.nullable(v.string()),
  respHeaders: JsonObject,
  respBodyTruncated: v.nullable(v.string()),
});
export type CallLogRow = v.InferOutput<typeof CallLogRow>;

/** A record that failed validation and was kept instead of delivered. */
export const QuarantineRow = v.object({
  id: v.string(),
  connectionId: v.string(),
  resourceKey: v.string(),
  externalId: v.string(),
  rawJson: v.pipe(v.unknown(), v.description('The record as fetched.')),
  validationErrors: v.pipe(v.unknown(), v.description('What is wrong with it, as a list of path and message.')),
  resolvedAt: v.pipe(v.nullable(Timestamp), v.description('Null while unresolved.')),
});
export type QuarantineRow = v.InferOutput<typeof QuarantineRow>;

/** A cron-driven trigger of one resource of a connection. */
export const ScheduleRow = v.object({
  id: v.pipe(v.string(), v.examples(['sched_01kaemm0dce7xb1k4c1m1f2p3q'])),
  connectionId: v.string(),
  resourceKey: v.pipe(v.string(), v.examples(['contacts'])),
  cron: v.pipe(v.string(), v.description('5 fields, or 6 with the second first.'), v.examples(['*/15 * * * *'])),
  timezone: v.pipe(v.string(), v.description('A zone of the IANA database.'), v.examples(['Europe/Berlin'])),
  enabled: v.boolean(),
});
export type ScheduleRow = v.InferOutput<typeof ScheduleRow>;

/** An address that an upstream posts to when something is new. Neither the address nor its secret is ever shown again. */
export const HookRow = v.object({
  id: v.pipe(v.string(), v.examples(['hook_01kaemm0dce7xb1k4c1m1f2p3q'])),
  connectionId: v.string(),
  resourceKeys: v.pipe(v.array(v.string()), v.description('What is synced.'), v.examples([['contacts']])),
  verification: Verification,
  dedupe: v.pipe(v.nullable(Dedupe), v.description('Null: as the kind of verification has it.')),
  debounceSeconds: v.number(),
  maxWaitSeconds: v.number(),
  enabled: v.boolean(),
  createdAt: Timestamp,
});
export type HookRow = v.InferOutput<typeof HookRow>;

/** What became of a request to a hook. */
export const HookRequestStatus = v.picklist(['accepted', 'duplicate', 'coalesced', 'ignored', 'rejected']);
export type HookRequestStatus = v.InferOutput<typeof HookRequestStatus>;

/** One request to a hook, without what was in it. */
export const HookRequestRow = v.object({
  id: v.pipe(v.string(), v.examples(['hreq_01kaemm0dce7xb1k4c1m1f2p3q'])),
  hookId: v.string(),
  receivedAt: Timestamp,
  status: v.pipe(
    HookRequestStatus,
    v.description('coalesced: accepted, and an earlier request had asked for the same run already.'),
  ),
  reason: v.pipe(v.nullable(v.string()), v.description('Why it was ignored or rejected; null: it was neither.')),
  runs: v.pipe(
    v.array(
      v.object({
        resourceKey: v.string(),
        runId: v.pipe(v.nullable(v.string()), v.description('Null: no run is made for it yet, or none may be.')),
      }),
    ),
    v.description('What it asked for; empty unless it was accepted. Each run started after the request came.'),
  ),
});
export type HookRequestRow = v.InferOutput<typeof HookRequestRow>;

/** One attempt to tell an endpoint of an event, as the log shows it. */
export const WebhookDeliveryView = v.object({
  id: v.pipe(v.string(), v.examples(['whd_01kaemm0dce7xb1k4c1m1f2p3q'])),
  orgId: v.string(),
  connectionId: v.pipe(v.nullable(v.string()), v.description('Null: the event is about no connection.')),
  runId: v.pipe(v.nullable(v.string()), v.description('Null: the event is about no run.')),
  eventType: v.pipe(v.string(), v.examples(['run.succeeded'])),
  url: v.string(),
  statusCode: v.pipe(v.nullable(v.number()), v.description('Null: not sent yet, or no answer arrived.')),
  delivered: v.pipe(v.boolean(), v.description('The receiver answered with 2xx.')),
  createdAt: Timestamp,
});
export type WebhookDeliveryView = v.InferOutput<typeof WebhookDeliveryView>;

/** Who asked for an attempt. */
export const WebhookTrigger = v.picklist(['auto', 'redelivery', 'recover', 'test']);
export type WebhookTrigger = v.InferOutput<typeof WebhookTrigger>;

/** How far an attempt is; `unknown`: its worker died, and nobody knows what became of it. */
export const WebhookDeliveryState = v.picklist(['queued', 'sending', 'done', 'unknown']);
export type WebhookDeliveryState = v.InferOutput<typeof WebhookDeliveryState>;

/** Everything that is known of one attempt. */
export const WebhookDeliveryDetail = v.object({
  ...WebhookDeliveryView.entries,
  eventId: v.pipe(v.string(), v.description('Sent as `webhook-id`: the same in every attempt.')),
  endpointId: v.string(),
  attempt: v.pipe(v.number(), v.description('Counts the attempts of the event at the endpoint from 1.')),
  trigger: WebhookTrigger,
  state: WebhookDeliveryState,
  redeliveryOf: v.pipe(v.nullable(v.string()), v.description('The delivery that was asked for again.')),
  payload: v.pipe(v.string(), v.description('The body, byte for byte as it is sent in every attempt.')),
  requestHeaders: v.pipe(v.nullable(JsonObject), v.description('Signatures masked; null: not sent.')),
  responseHeaders: v.pipe(v.nullable(JsonObject), v.description('Null: no answer arrived.')),
  responseBody: v.pipe(v.nullable(v.string()), v.description('Its first 16 KiB; null: no answer arrived.')),
  durationMs: v.nullable(v.number()),
  errorCode: v.pipe(
    v.nullable(v.string()),
    v.description('Why it failed; null: it succeeded, or is not over.'),
    v.examples(['timeout']),
  ),
  nextAttemptAt: v.pipe(
    v.nullable(Timestamp),
    v.description('When the event is sent to the endpoint again by itself; null: it is not.'),
  ),
});
export type WebhookDeliveryDetail = v.InferOutput<typeof WebhookDeliveryDetail>;

/** Something an org can be told of. */
export const EventType = v.picklist(eventTypes);

/** Why an endpoint is off: by hand, the receiver said 410, or it failed for too long. */
export const WebhookDisabledReason = v.picklist(['manual', 'gone', 'failing']);
export type WebhookDisabledReason = v.InferOutput<typeof WebhookDisabledReason>;

/** `probing`: only the oldest event is tried; `paused`: the receiver asked to be left alone for a while. */
export const WebhookEndpointState = v.picklist(['ok', 'probing', 'paused', 'disabled']);
export type WebhookEndpointState = v.InferOutput<typeof WebhookEndpointState>;

/** `fifo`: an event waits until the one before it was taken or given up. */
export const WebhookOrdering = v.picklist(['any', 'fifo']);
export type WebhookOrdering = v.InferOutput<typeof WebhookOrdering>;

/** Of Standard Webhooks; `v1`: HMAC-SHA256, `v1a`: ed25519. */
export const SignatureScheme = v.picklist(['v1', 'v1a']);
export type SignatureScheme = v.InferOutput<typeof SignatureScheme>;

/** Where events of the org are sent. Its secret is never part of it. */
export const WebhookEndpointRow = v.object({
  id: v.pipe(v.string(), v.examples(['whe_01kaemm0dce7xb1k4c1m1f2p3q'])),
  orgId: v.string(),
  url: v.pipe(v.string(), v.examples(['https://hooks.example.com/sync'])),
  description: v.nullable(v.string()),
  eventTypes: v.pipe(v.nullable(v.array(EventType)), v.description('Null: every type that is on by default.')),
  connectionIds: v.pipe(v.nullable(v.array(v.string())), v.description('Null: of every connection.')),
  workspaceIds: v.pipe(v.nullable(v.array(v.string())), v.description('Null: of every workspace.')),
  enabled: v.boolean(),
  disabledReason: v.pipe(v.nullable(WebhookDisabledReason), v.description('Null while it is enabled.')),
  state: WebhookEndpointState,
  rateLimitPerSecond: v.pipe(v.nullable(v.number()), v.description('Null: no limit but `maxInFlight`.')),
  maxInFlight: v.pipe(v.number(), v.description('Requests at once.')),
  timeoutMs: v.pipe(v.number(), v.description('For the whole of a request and its answer.')),
  ordering: WebhookOrdering,
  signatureSchemes: v.array(SignatureScheme),
  secretHint: v.pipe(v.string(), v.description('The last four characters of the current secret.')),
  publicKey: v.pipe(v.nullable(v.string()), v.description('`whpk_…`, with which `v1a` is verified; null without it.')),
  createdAt: Timestamp,
  lastSuccessAt: v.nullable(Timestamp),
  firstFailureAt: v.pipe(
    v.nullable(Timestamp),
    v.description('Of the failures in a row under way; null: there are none.'),
  ),
});
export type WebhookEndpointRow = v.InferOutput<typeof WebhookEndpointRow>;

/** How an endpoint has done of late. */
export const WebhookEndpointStats = v.object({
  window: v.pipe(v.string(), v.examples(['24h'])),
  attempts: v.pipe(Count, v.description('Attempts of the window that are over.')),
  delivered: Count,
  successRate: v.pipe(v.nullable(v.number()), v.description('From 0 to 1; null: there were no attempts.')),
  p50Ms: v.pipe(v.nullable(v.number()), v.description('Median duration of an attempt; null: there were none.')),
  p95Ms: v.nullable(v.number()),
  pending: v.pipe(Count, v.description('Events that wait to be sent, or to be sent again.')),
  oldestPendingSeconds: v.pipe(v.nullable(v.number()), v.description('Age of the oldest of them; null: none waits.')),
  state: WebhookEndpointState,
});
export type WebhookEndpointStats = v.InferOutput<typeof WebhookEndpointStats>;

/** `failed`: every attempt failed; `skipped`: the endpoint was off; `missing`: it did not exist, or did not ask for it. */
export const RecoverySubject = v.picklist(['failed', 'skipped', 'missing']);
export type RecoverySubject = v.InferOutput<typeof RecoverySubject>;

/** Events of the past that are sent to an endpoint again. */
export const WebhookRecovery = v.object({
  id: v.pipe(v.string(), v.examples(['whr_01kaemm0dce7xb1k4c1m1f2p3q'])),
  endpointId: v.string(),
  status: v.pipe(v.picklist(['running', 'finished']), v.description('`finished`: none of the events waits any more.')),
  since: Timestamp,
  until: Timestamp,
  include: v.array(RecoverySubject),
  total: v.pipe(Count, v.description('Events that it made due again.')),
  sent: v.pipe(Count, v.description('Those of them that the receiver has taken.')),
  createdAt: Timestamp,
});
export type WebhookRecovery = v.InferOutput<typeof WebhookRecovery>;

/** What a workspace is for. */
export const WorkspaceKind = v.picklist(['dev', 'staging', 'prod']);
export type WorkspaceKind = v.InferOutput<typeof WorkspaceKind>;

/** A part of an org; connections live in one. */
export const WorkspaceRow = v.object({
  id: v.pipe(v.string(), v.examples(['ws_01kaemm0dce7xb1k4c1m1f2p3q'])),
  name: v.string(),
  kind: WorkspaceKind,
  createdAt: Timestamp,
});
export type WorkspaceRow = v.InferOutput<typeof WorkspaceRow>;

/** An API key without the key: that is shown once, when it is made. */
export const ApiKeyRow = v.object({
  id: v.pipe(v.string(), v.examples(['key_01kaemm0dce7xb1k4c1m1f2p3q'])),
  last4: v.pipe(v.string(), v.description('The last four characters of the key.')),
  workspaceId: v.pipe(v.nullable(v.string()), v.description('Null: the key is not bound to a workspace.')),
  createdAt: Timestamp,
  expiresAt: v.pipe(v.nullable(Timestamp), v.description('Null: the key does not expire.')),
  revokedAt: v.nullable(Timestamp),
  lastUsedAt: v.pipe(v.nullable(Timestamp), v.description('Kept to the minute.')),
});
export type ApiKeyRow = v.InferOutput<typeof ApiKeyRow>;

/** A type of event that endpoints can be told of. */
export const EventTypeRow = v.object({
  type: v.picklist(eventTypes),
  summary: v.pipe(v.string(), v.description('When it happens.')),
  default: v.pipe(v.boolean(), v.description('Endpoints that name no types get it.')),
  schema: v.pipe(
    JsonObject,
    v.description('JSON Schema (2020-12) of the whole payload. Later versions only add to it.'),
  ),
  example: v.pipe(JsonObject, v.description('A payload as it could be sent.')),
});
export type EventTypeRow = v.InferOutput<typeof EventTypeRow>;

/** Every error answer. Without `code`: invalid JSON, or a required query parameter is missing. */
export const ErrorBody = v.object({
  error: v.object({
    code: v.optional(
      v.picklist([
        'validation',
        'unauthorized',
        'plan_limit',
        'not_found',
        'conflict',
        'immutable',
        'rate_limited',
        'internal',
      ]),
    ),
    message: v.string(),
    issues: v.optional(v.array(Issue)),
  }),
});
export type ErrorBody = v.InferOutput<typeof ErrorBody>;

// Written by `npm run generate` from the OpenAPI document of the service. Do not edit.

export type ConnectionRow = {
  id: string;
  orgId: string;
  workspaceId: string;
  specId: string;
  pinnedSpecVersion: string;
  displayName: string;
  /** The caller's id of the end customer. */
  externalCustomerId: string | null;
  status: ConnectionStatus;
  /** Why it is in error; null: it is not. */
  error: {
    /** As in the error of a run. */
    code: string;
    message: string;
    /** The resource whose run failed. */
    resourceKey: string;
    since: Timestamp;
    /** When it is tested again; it is active again if that succeeds. Null: it is not tested by itself, since only a person can mend it or see whether it is mended. */
    nextTestAt: Timestamp | null;
  } | null;
  /** How long runs of a resource may be refused by the API or the destination before the connection is in error, and its schedules stop. 0: the first refused run is enough. */
  errorAfterMinutes: number;
  paramsJson: JsonObject;
  /** Keyed merge patch on the pinned spec; null without one. */
  specOverridesJson: JsonObject | null;
  /** The accounts that its customer connected, where the provider tells. */
  accounts: {
    /** The resource with a grant of its own; null: the connection. */
    resource: string | null;
    /** What the provider tells of it: the values that `auth.account` of the spec names. */
    values: {
      [name: string]: string;
    };
  }[];
};

export type ConnectionStatus = 'pending' | 'active' | 'paused' | 'error';

export interface SpecUpgrade {
  connectionId: string;
  from: string;
  to: string;
  /** False for a dry run. */
  applied: boolean;
  plan: {
    /** `resets`: the next run starts over. `breaking`: something stops working. */
    class: 'compatible' | 'resets' | 'breaking';
    /** Parts of the spec other than its resources that differ. */
    changed: string[];
    resources: {
      resourceKey: string;
      /** `resets`: the next run starts over. `breaking`: something stops working. */
      class: 'compatible' | 'resets' | 'breaking';
      /** Fields of the resource that differ. */
      changed: string[];
      /** What the next run resets first; `state`: every known record and the watermark. */
      resets: 'nothing' | 'watermark' | 'state';
      /** Records delivered again although they did not change; `fetched`: those that a run fetches anyway. */
      redelivers: 'nothing' | 'fetched' | 'everything';
      /** Other records are read, or under other keys, or `filter` may keep others, and what is then not found is deleted at the destination, as far as the brake on deletes allows. */
      mayDelete: boolean;
      /** Delivered records keep their old form until then. */
      backfillRecommended: boolean;
      /** The table whose upsert keys change; null: none. */
      rekeyedTable: string | null;
      /** The plan of this resource in words. */
      effect: string;
    }[];
    backfillRecommended: boolean;
    /** Why the change cannot be applied; empty when it can. */
    issues: Issue[];
  };
}

export interface SpecVersionRow {
  id: string;
  specId: string;
  /** Semver without a build part. */
  version: string;
  specJson: JsonObject;
  status: 'draft' | 'published' | 'deprecated';
  /** `sha256:` and the hex digest of the RFC 8785 form of `specJson`. */
  checksum: string;
  publishedAt: Timestamp | null;
}

export interface SpecRow {
  id: string;
  key: string;
  /** Newest first. */
  versions: {
    version: string;
    status: 'draft' | 'published' | 'deprecated';
  }[];
}

export interface Issue {
  code: 'schema' | 'duplicate_key' | 'duplicate_assign_to' | 'unresolved_dependency' | 'cycle';
  path: string;
  message: string;
  /** Where `path` is written in a body of YAML, from 1. Absent: the body is JSON, or has no such part. */
  line?: number;
  column?: number;
}

export type ValidationResult = {
  valid: true;
  spec: JsonObject;
} | {
  valid: false;
  issues: Issue[];
};

export interface RunStats {
  /** Records selected from responses, and quarantined ones retried. */
  recordsIn: number;
  /** Records acknowledged by the destination. */
  recordsOut: number;
  /** Unchanged, filtered, stale or repeated records. */
  skipped: number;
  /** Deletions acknowledged by the destination. */
  deleted: number;
  /** Records stored as quarantined instead of delivered. */
  quarantined: number;
}

export type RunStatus = 'queued' | 'running' | 'succeeded' | 'failed' | 'partial' | 'canceled';

export type RunRow = {
  id: string;
  connectionId: string;
  resourceKey: string;
  trigger: 'manual' | 'schedule' | 'webhook' | 'backfill';
  status: RunStatus;
  /** Null while queued. */
  startedAt: Timestamp | null;
  /** Null until the status is final. */
  finishedAt: Timestamp | null;
  statsJson: RunStats;
  /** Null: no incremental sync has finished yet. */
  watermarkBefore: string | null;
  watermarkAfter: string | null;
  /** What the counts do not say, each with how often it applies: why the run is partial, why nothing was concluded from absence, what the API did against its spec. */
  notes: {
    [name: string]: number;
  };
  /** Why the run failed, or was canceled by an operator in Temporal, and what to do next. While it runs: why its last attempt failed, which is retried. */
  error: {
    code: string;
    message: string;
  } | null;
};

export interface CallLogRow {
  id: string;
  runId: string;
  /** Position in the run, from 1. */
  sequence: number;
  method: string;
  url: string;
  /** Null: no response arrived; `errorCode` says why. */
  statusCode: number | null;
  /** Why no response arrived, or why it was not used: `network`, `timeout`, `egress_blocked`, `source_rejected`, `spec_invalid`; `canceled`: it was given up, as a page that was requested ahead and is behind the last one. Null: nothing went wrong. */
  errorCode: string | null;
  durationMs: number | null;
  /** From 1. */
  attempt: number;
  cacheHit: boolean;
  reqHeadersRedacted: JsonObject;
  reqBodyRedacted: string | null;
  respHeaders: JsonObject;
  respBodyTruncated: string | null;
}

export interface QuarantineRow {
  id: string;
  connectionId: string;
  resourceKey: string;
  externalId: string;
  /** The record as fetched. */
  rawJson: unknown;
  /** What is wrong with it, as a list of path and message. */
  validationErrors: unknown;
  /** Null while unresolved. */
  resolvedAt: Timestamp | null;
}

export interface ScheduleRow {
  id: string;
  connectionId: string;
  resourceKey: string;
  /** 5 fields, or 6 with the second first. */
  cron: string;
  /** A zone of the IANA database. */
  timezone: string;
  enabled: boolean;
}

export interface HookRow {
  id: string;
  connectionId: string;
  /** Keys of the resources that are synced. */
  resourceKeys: string[];
  verification: Verification;
  /** Null: as the kind of verification defines. */
  dedupe: Dedupe | null;
  debounceSeconds: number;
  maxWaitSeconds: number;
  enabled: boolean;
  createdAt: Timestamp;
}

export interface HookRequestRow {
  id: string;
  hookId: string;
  receivedAt: Timestamp;
  /** coalesced: accepted, and an earlier request already started the same run. */
  status: 'accepted' | 'duplicate' | 'coalesced' | 'ignored' | 'rejected';
  /** Why it was ignored, rejected or a duplicate, or why its run comes later. Null: none of these. */
  reason: string | null;
  /** The runs that it started; empty unless it was accepted. Each run started after the request arrived. */
  runs: {
    resourceKey: string;
    /** Null: no run was created for it, or none is allowed. */
    runId: string | null;
  }[];
}

export type Verification = {
  kind: 'standard_webhooks' | 'github' | 'stripe' | 'shopify' | 'slack';
} | {
  kind: 'hmac';
  /** Where the signature is. */
  header: string;
  algorithm?: 'sha1' | 'sha256' | 'sha512';
  encoding?: 'hex' | 'base64';
  /** The prefix of the signature in its header. */
  prefix?: string;
  /** What is signed; with `timestamp.body` the time, a dot and the body. */
  content?: 'body' | 'timestamp.body';
  /** Where the time is, in whole seconds: with `timestamp.body`, and only then, as it must be signed. */
  timestampHeader?: string | null;
  /** How far that time may differ from the time of the service. */
  toleranceSeconds?: number;
} | {
  kind: 'header_secret';
  header: string;
} | {
  kind: 'none';
};

export type Dedupe = {
  by: 'header';
  /** Where the id is. If there is a signature that does not cover it, the body counts with it. */
  name: string;
} | {
  by: 'pointer';
  /** A JSON pointer into the body; without a value there, or with tens of thousands of values, the whole body is compared. */
  pointer: string;
} | {
  by: 'body';
} | {
  by: 'nothing';
};

export interface WebhookDeliveryView {
  id: string;
  orgId: string;
  /** Null: the event is about no connection. */
  connectionId: string | null;
  /** Null: the event is about no run. */
  runId: string | null;
  eventType: string;
  url: string;
  /** Null: not sent yet, or no response arrived. */
  statusCode: number | null;
  /** The receiver responded with 2xx. */
  delivered: boolean;
  createdAt: Timestamp;
}

export interface WebhookDeliveryDetail {
  id: string;
  orgId: string;
  /** Null: the event is about no connection. */
  connectionId: string | null;
  /** Null: the event is about no run. */
  runId: string | null;
  eventType: string;
  url: string;
  /** Null: not sent yet, or no response arrived. */
  statusCode: number | null;
  /** The receiver responded with 2xx. */
  delivered: boolean;
  createdAt: Timestamp;
  /** Sent as `webhook-id`: the same in every attempt. */
  eventId: string;
  endpointId: string;
  /** Counts the attempts of the event at the endpoint from 1. */
  attempt: number;
  trigger: 'auto' | 'redelivery' | 'recover' | 'test';
  state: 'queued' | 'sending' | 'done' | 'unknown';
  /** The delivery that this one repeats. */
  redeliveryOf: string | null;
  /** The body, byte for byte as it is sent in every attempt. */
  payload: string;
  /** Signatures masked; null: not sent. */
  requestHeaders: JsonObject | null;
  /** Null: no response arrived. */
  responseHeaders: JsonObject | null;
  /** Its first 16 KiB; null: no response arrived. */
  responseBody: string | null;
  durationMs: number | null;
  /** Why it failed; null: it succeeded, or has not ended. */
  errorCode: string | null;
  /** When the event is automatically sent to the endpoint again, at the earliest; null: it is not. */
  nextAttemptAt: Timestamp | null;
}

export interface WebhookEndpointRow {
  id: string;
  orgId: string;
  url: string;
  description: string | null;
  /** Null: every type that is on by default. */
  eventTypes: EventType[] | null;
  /** Null: of every connection. */
  connectionIds: string[] | null;
  /** Null: of every workspace. */
  workspaceIds: string[] | null;
  enabled: boolean;
  /** Null while it is enabled. */
  disabledReason: 'manual' | 'gone' | 'failing' | null;
  state: 'ok' | 'probing' | 'paused' | 'disabled';
  /** Null: limited by `maxInFlight` only. */
  rateLimitPerSecond: number | null;
  /** Concurrent requests at most. */
  maxInFlight: number;
  /** For the whole request and its response. */
  timeoutMs: number;
  ordering: 'any' | 'fifo';
  signatureSchemes: ('v1' | 'v1a')[];
  /** The last four characters of the current secret. */
  secretHint: string;
  /** `whpk_…`, with which `v1a` is verified; null without it. */
  publicKey: string | null;
  createdAt: Timestamp;
  lastSuccessAt: Timestamp | null;
  /** Of the current failures in a row; null: there are none. */
  firstFailureAt: Timestamp | null;
}

export interface WebhookEndpointStats {
  window: string;
  /** Attempts of the window that have ended. */
  attempts: number;
  delivered: number;
  /** From 0 to 1; null: there were no attempts. */
  successRate: number | null;
  /** Median duration of an attempt; null: there were none. */
  p50Ms: number | null;
  p95Ms: number | null;
  /** Events that are pending, for a first or another attempt. */
  pending: number;
  /** Age of the oldest of them; null: no event is pending. */
  oldestPendingSeconds: number | null;
  state: 'ok' | 'probing' | 'paused' | 'disabled';
}

export interface WebhookRecovery {
  id: string;
  endpointId: string;
  /** `finished`: none of the events is pending any more. */
  status: 'running' | 'finished';
  since: Timestamp;
  until: Timestamp;
  include: ('failed' | 'skipped' | 'missing')[];
  /** Events that it sends again. */
  total: number;
  /** Those of them that the receiver has accepted. */
  sent: number;
  createdAt: Timestamp;
}

export interface FreshnessView {
  connection: {
    id: string;
    displayName: string;
    status: ConnectionStatus;
  };
  freshness: {
    /** failing: the last run failed, or the attempts of the run that goes on do. degraded: overdue, the last run was partial, or records are in quarantine. syncing: a run is queued or running. pending: no run yet. Of a connection, the worst of its resources. */
    health: 'healthy' | 'degraded' | 'failing' | 'syncing' | 'pending';
    /** Null: no run has succeeded yet. */
    lastSuccessAt: Timestamp | null;
    /** Seconds since the last success; null: there was none. */
    ageSeconds: number | null;
    /** The last success is more than two expected intervals ago. */
    overdue: boolean;
    resources: {
      resourceKey: string;
      /** failing: the last run failed, or the attempts of the run that goes on do. degraded: overdue, the last run was partial, or records are in quarantine. syncing: a run is queued or running. pending: no run yet. Of a connection, the worst of its resources. */
      health: 'healthy' | 'degraded' | 'failing' | 'syncing' | 'pending';
      /** Null: no run has succeeded yet. */
      lastSuccessAt: Timestamp | null;
      /** Records that the last success delivered. */
      lastRecords: number | null;
      /** Null: no run yet. */
      lastRunAt: Timestamp | null;
      lastRunStatus: RunStatus | null;
      /** Seconds since the last success; null: there was none. */
      ageSeconds: number | null;
      /** The longest interval between two firings of its enabled schedules; null: it has none. */
      expectedIntervalSeconds: number | null;
      /** The last success is more than two expected intervals ago. */
      overdue: boolean;
    }[];
  };
  /** Up to 10, newest first. */
  recentRuns: {
    id: string;
    status: RunStatus;
    resourceKey: string;
    /** Null while queued. */
    startedAt: Timestamp | null;
    stats: RunStats;
  }[];
}

export interface WorkspaceRow {
  id: string;
  name: string;
  kind: 'dev' | 'staging' | 'prod';
  createdAt: Timestamp;
}

export interface ApiKeyRow {
  id: string;
  /** The last four characters of the key. */
  last4: string;
  /** The workspace stored with the key, which restricts nothing. Null: none. */
  workspaceId: string | null;
  /** The id of the key that created it. Null: the operator did. */
  createdBy: string | null;
  createdAt: Timestamp;
  /** Null: the key does not expire. */
  expiresAt: Timestamp | null;
  revokedAt: Timestamp | null;
  /** Kept to the minute. */
  lastUsedAt: Timestamp | null;
}

export interface AuthorizationSettings {
  /** The origins that `returnUrl` may have. */
  returnOrigins: string[];
  /** Whether every authorization needs a `returnUrl`, and is confirmed by `POST /oauth/confirm`. */
  confirmationRequired: boolean;
}

export type EventType = 'run.started' | 'run.succeeded' | 'run.partial' | 'run.failed' | 'run.canceled' | 'records.quarantined' | 'records.requeued' | 'connection.created' | 'connection.activated' | 'connection.paused' | 'connection.error' | 'connection.recovered' | 'connection.reauth_required' | 'connection.spec_upgraded' | 'connection.overdue' | 'connection.on_time' | 'schedule.created' | 'schedule.updated' | 'schedule.deleted' | 'schedule.skipped' | 'spec.published' | 'spec.deprecated' | 'endpoint.failing' | 'endpoint.disabled' | 'api_key.created' | 'api_key.revoked' | 'webhook.test';

export interface EventTypeRow {
  type: EventType;
  /** When the event occurs. */
  summary: string;
  /** Endpoints that name no types get it. */
  default: boolean;
  /** JSON Schema (2020-12) of the whole payload. Later versions only add to it. */
  schema: {
    [name: string]: unknown;
  };
  /** A payload as it could be sent. */
  example: {
    [name: string]: unknown;
  };
}

export interface EventEnvelope {
  /** The same for every attempt to deliver it; also `webhook-id`. */
  id: string;
  type: string;
  /** When it happened: ISO 8601, UTC. */
  timestamp: string;
  apiVersion: '2026-11';
  orgId: string;
  /** Null: the event is not about a workspace. */
  workspaceId: string | null;
  /** Null: the event is not about a connection. */
  connectionId: string | null;
  /** Null: the event is not about a run. */
  runId: string | null;
  /** Counts the events of the connection without gaps; null: the event is not about a connection. */
  sequence: number | null;
}

export interface EventConnection {
  id: string;
  displayName: string;
  /** The caller's id of the end customer. */
  externalCustomerId: string | null;
  workspaceId: string;
  specKey: string;
  pinnedSpecVersion: string;
  status: ConnectionStatus;
}

export interface ErrorBody {
  error: {
    code?: 'validation' | 'unauthorized' | 'forbidden' | 'plan_limit' | 'not_found' | 'conflict' | 'immutable' | 'rate_limited' | 'internal' | 'unavailable';
    message: string;
    issues?: Issue[];
  };
}

export interface Deleted {
  deleted: true;
}

export interface JsonObject {
  [name: string]: unknown;
}

/** ISO 8601, UTC. */
export type Timestamp = string;

/** `GET /api/connector-spec.schema.json` describes each field, for people and editors. */
export interface ConnectorSpec {
  formatVersion?: 1;
  metadata: {
    key: string;
    name: string;
    version: string;
    description?: string;
    docsUrl?: string;
    iconUrl?: string;
    tags?: string[];
    [name: `x-${string}`]: unknown;
  };
  connectionParams?: {
    key: string;
    type: 'string' | 'integer' | 'number' | 'boolean' | 'url' | 'string_list' | 'json';
    label?: string;
    description?: string;
    example?: string;
    helpUrl?: string;
    required?: boolean;
    secret?: boolean;
    default?: unknown;
    enum?: unknown[];
    pattern?: string;
    format?: 'date' | 'date-time' | 'email' | 'uuid' | 'hostname' | 'subdomain';
    minLength?: number;
    maxLength?: number;
    min?: number;
    max?: number;
    [name: `x-${string}`]: unknown;
  }[];
  auth?: Auth;
  http?: HttpSettings;
  lookups?: Lookup[];
  resources: Resource[];
  destination?: DestinationSpec;
  tests?: {
    name: string;
    resource: string;
    params?: {
      [name: string]: unknown;
    };
    secrets?: {
      [name: string]: unknown;
    };
    watermark?: string | null;
    known?: string[];
    maxRecords?: number;
    now?: string;
    mocks?: {
      request: {
        method?: 'GET' | 'POST';
        path?: string;
        query?: {
          [name: string]: unknown;
        };
        headers?: {
          [name: string]: string;
        };
        body?: unknown;
        [name: `x-${string}`]: unknown;
      };
      respond: {
        status?: number;
        headers?: {
          [name: string]: string;
        };
        body?: unknown;
        [name: `x-${string}`]: unknown;
      };
      times?: number;
      [name: `x-${string}`]: unknown;
    }[];
    expect: {
      status?: 'succeeded' | 'partial' | 'failed';
      stats?: {
        recordsIn?: number;
        recordsOut?: number;
        skipped?: number;
        deleted?: number;
        quarantined?: number;
        [name: `x-${string}`]: unknown;
      };
      watermarkAfter?: string | null;
      delivered?: {
        [name: string]: unknown;
      }[];
      deleted?: string[];
      quarantined?: string[];
      requests?: number | {
        method?: 'GET' | 'POST';
        path?: string;
        query?: {
          [name: string]: unknown;
        };
        headers?: {
          [name: string]: string;
        };
        body?: unknown;
        [name: `x-${string}`]: unknown;
      }[];
      [name: `x-${string}`]: unknown;
    };
    [name: `x-${string}`]: unknown;
  }[];
  /** Ignored: the API key determines the org. */
  orgId?: unknown;
  [name: `x-${string}`]: unknown;
}

export type Auth = {
  kind: 'none';
  [name: `x-${string}`]: unknown;
} | {
  kind: 'api_key';
  in: 'header' | 'query' | 'cookie';
  name: string;
  value: string;
  prefix?: string;
  [name: `x-${string}`]: unknown;
} | {
  kind: 'basic';
  username: string;
  password?: string;
  [name: `x-${string}`]: unknown;
} | {
  kind: 'bearer';
  token: string;
  [name: `x-${string}`]: unknown;
} | {
  kind: 'headers';
  headers: {
    [name: string]: string;
  };
  [name: `x-${string}`]: unknown;
} | {
  kind: 'oauth2_client_credentials';
  tokenUrl: string;
  clientId: string;
  scopes?: string[];
  scopeSeparator?: string;
  tokenRequest?: 'form' | 'json';
  refresh?: {
    expiryBufferSeconds?: number;
    rotation?: 'auto' | 'always' | 'never';
    defaultTtlSeconds?: number;
    [name: `x-${string}`]: unknown;
  };
  tokenResponse?: {
    accessToken?: FieldPath;
    refreshToken?: FieldPath;
    expiresIn?: FieldPath;
    expiresInUnit?: 'seconds' | 'milliseconds' | 'minutes' | 'hours';
    metadata?: {
      [name: string]: FieldPath;
    };
    [name: `x-${string}`]: unknown;
  };
  put?: {
    in?: 'header' | 'query' | 'cookie';
    name?: string;
    prefix?: string;
    [name: `x-${string}`]: unknown;
  };
  clientSecret: string;
  clientAuth?: 'basic' | 'post' | 'private_key_jwt';
  params?: {
    [name: string]: string;
  };
  [name: `x-${string}`]: unknown;
} | {
  kind: 'oauth2_authorization_code';
  tokenUrl: string;
  clientId?: string;
  scopes?: string[];
  scopeSeparator?: string;
  tokenRequest?: 'form' | 'json';
  refresh?: {
    expiryBufferSeconds?: number;
    rotation?: 'auto' | 'always' | 'never';
    defaultTtlSeconds?: number;
    keepAlive?: string;
    [name: `x-${string}`]: unknown;
  };
  tokenResponse?: {
    accessToken?: FieldPath;
    refreshToken?: FieldPath;
    expiresIn?: FieldPath;
    expiresInUnit?: 'seconds' | 'milliseconds' | 'minutes' | 'hours';
    metadata?: {
      [name: string]: FieldPath;
    };
    [name: `x-${string}`]: unknown;
  };
  put?: {
    in?: 'header' | 'query' | 'cookie';
    name?: string;
    prefix?: string;
    [name: `x-${string}`]: unknown;
  };
  app?: string;
  authorizeUrl: string;
  clientSecret?: string;
  clientAuth?: 'basic' | 'post' | 'none';
  pkce?: boolean;
  authorizeParams?: {
    [name: string]: string;
  };
  tokenParams?: {
    [name: string]: string;
  };
  callback?: {
    code?: string;
    metadata?: {
      [name: string]: string;
    };
    [name: `x-${string}`]: unknown;
  };
  account?: string[];
  refreshUrl?: string;
  revokeUrl?: string;
  [name: `x-${string}`]: unknown;
} | {
  kind: 'session';
  login: RequestTemplate;
  tokenFrom: string;
  ttlSeconds?: number;
  expiresFrom?: string;
  put?: {
    in?: 'header' | 'query' | 'cookie';
    name?: string;
    prefix?: string;
    [name: `x-${string}`]: unknown;
  };
  [name: `x-${string}`]: unknown;
} | {
  kind: 'jwt';
  algorithm: 'HS256' | 'HS384' | 'HS512' | 'RS256' | 'RS384' | 'RS512' | 'ES256' | 'ES384' | 'EdDSA';
  key: string;
  claims: {
    [name: string]: unknown;
  };
  keyId?: string;
  ttlSeconds?: number;
  exchange?: {
    tokenUrl: string;
    tokenRequest?: 'form' | 'json';
    params?: {
      [name: string]: string;
    };
    [name: `x-${string}`]: unknown;
  };
  put?: {
    in?: 'header' | 'query' | 'cookie';
    name?: string;
    prefix?: string;
    [name: `x-${string}`]: unknown;
  };
  [name: `x-${string}`]: unknown;
} | {
  kind: 'hmac';
  algorithm: 'sha1' | 'sha256' | 'sha384' | 'sha512';
  secret: string;
  stringToSign: string;
  headers: {
    [name: string]: string;
  };
  encoding?: 'hex' | 'base64';
  [name: `x-${string}`]: unknown;
};

export interface HttpSettings {
  baseUrl?: string;
  headers?: {
    [name: string]: string;
  };
  query?: {
    [name: string]: unknown;
  };
  allowedHosts?: string[];
  timeoutMs?: number;
  maxResponseBytes?: number;
  redirects?: 'same_origin' | 'none';
  retry?: {
    maxAttempts?: number;
    baseMs?: number;
    maxMs?: number;
    maxWaitSeconds?: number;
    [name: `x-${string}`]: unknown;
  };
  rateLimit?: {
    scope?: 'connection' | 'org';
    requests?: number;
    perSeconds?: number;
    burst?: number;
    maxConcurrent?: number;
    headers?: {
      remaining?: string;
      reset?: string;
      resetFormat?: 'seconds' | 'epoch_s' | 'epoch_ms' | 'http_date' | 'iso';
      [name: `x-${string}`]: unknown;
    };
    [name: `x-${string}`]: unknown;
  };
  errors?: ErrorRule[];
  [name: `x-${string}`]: unknown;
}

export interface RequestTemplate {
  method?: 'GET' | 'POST';
  path?: string;
  url?: string;
  query?: {
    [name: string]: unknown;
  };
  headers?: {
    [name: string]: string;
  };
  body?: {
    json?: unknown;
    form?: {
      [name: string]: unknown;
    };
    text?: string;
    graphql?: {
      query: string;
      variables?: {
        [name: string]: unknown;
      };
      [name: `x-${string}`]: unknown;
    };
    [name: `x-${string}`]: unknown;
  };
  arrayFormat?: 'repeat' | 'comma' | 'brackets' | 'indices';
  timeoutMs?: number;
  rateLimit?: {
    scope?: 'connection' | 'org';
    requests?: number;
    perSeconds?: number;
    burst?: number;
    maxConcurrent?: number;
    headers?: {
      remaining?: string;
      reset?: string;
      resetFormat?: 'seconds' | 'epoch_s' | 'epoch_ms' | 'http_date' | 'iso';
      [name: `x-${string}`]: unknown;
    };
    [name: `x-${string}`]: unknown;
  };
  cache?: {
    mode?: 'none' | 'conditional' | 'ttl';
    ttlSeconds?: number;
    [name: `x-${string}`]: unknown;
  };
  [name: `x-${string}`]: unknown;
}

export interface ErrorRule {
  when: {
    status?: (number | '4xx' | '5xx' | 'network' | 'timeout')[];
    expr?: string;
    [name: `x-${string}`]: unknown;
  };
  action: 'retry' | 'rate_limited' | 'refresh_auth' | 'empty' | 'skip_partition' | 'fail';
  waitFrom?: {
    header: string;
    format: 'seconds' | 'epoch_s' | 'epoch_ms' | 'http_date' | 'iso';
    [name: `x-${string}`]: unknown;
  };
  message?: string;
  connection?: 'error';
  [name: `x-${string}`]: unknown;
}

export type Lookup = {
  kind: 'static';
  assignTo: string;
  table: {
    [name: string]: unknown;
  };
  [name: `x-${string}`]: unknown;
} | {
  kind: 'request';
  assignTo: string;
  request: RequestTemplate;
  records?: string;
  successWhen?: string;
  keyBy: string;
  value?: string;
  pagination?: Pagination;
  dependsOn?: string[];
  maxEntries?: number;
  cache?: {
    scope?: 'run' | 'connection';
    ttlSeconds?: number;
    [name: `x-${string}`]: unknown;
  };
  [name: `x-${string}`]: unknown;
};

export type Resource = {
  key: string;
  name?: string;
  description?: string;
  primaryKey: FieldPath | FieldPath[];
  auth?: Auth;
  dependsOn?: string[];
  forEach?: {
    as: string;
    values?: string;
    resource?: string;
    from?: 'live' | 'store';
    select?: 'all' | 'changed';
    when?: string;
    value?: FieldPath;
    union?: {
      values?: string;
      resource?: string;
      from?: 'live' | 'store';
      when?: string;
      value?: FieldPath;
      [name: `x-${string}`]: unknown;
    }[];
    group?: {
      size: number;
      join?: string;
      [name: `x-${string}`]: unknown;
    };
    [name: `x-${string}`]: unknown;
  }[];
  request: RequestTemplate;
  fieldChunks?: {
    fields: string | string[];
    always?: string[];
    size?: number;
    maxLength?: number;
    join?: string;
    mergeBy?: FieldPath[];
    onMissing?: 'fail' | 'keep';
    [name: `x-${string}`]: unknown;
  };
  job?: {
    create: RequestTemplate;
    id: string;
    createErrors?: ErrorRule[];
    poll: RequestTemplate;
    pollErrors?: ErrorRule[];
    status: string;
    completed: string[];
    failed: string[];
    emptyWhen?: string;
    parts?: string;
    values?: {
      [name: string]: string;
    };
    signRequest?: boolean;
    intervalSeconds?: number;
    timeoutSeconds?: number;
    [name: `x-${string}`]: unknown;
  };
  response?: {
    decoder?: 'json' | 'jsonl' | 'csv' | 'xml' | 'text';
    records?: string;
    recordsMissing?: 'fail' | 'empty';
    map?: string;
    addFields?: {
      [name: string]: string;
    };
    successWhen?: string;
    total?: string;
    bigNumbers?: 'string' | 'number';
    [name: `x-${string}`]: unknown;
  };
  pagination?: Pagination;
  incremental?: {
    kind: 'cursor';
    cursor: {
      field?: FieldPath;
      type: 'datetime' | 'date' | 'epoch_s' | 'epoch_ms' | 'integer' | 'string';
      format?: string;
      timezone?: string;
      sendAs?: 'iso' | 'date' | 'epoch_s' | 'epoch_ms' | 'raw';
      missing?: 'include' | 'exclude' | 'fail';
      [name: `x-${string}`]: unknown;
    };
    initial?: string | number;
    order: 'asc' | 'desc' | 'none';
    settle?: string;
    lookback?: string | number;
    window?: {
      size: string;
      overlap?: string;
      [name: `x-${string}`]: unknown;
    };
    resultCap?: {
      records: number;
      onReached?: 'split' | 'fail';
      [name: `x-${string}`]: unknown;
    };
    retention?: {
      maxAge: string;
      onExceeded?: 'fail' | 'full';
      [name: `x-${string}`]: unknown;
    };
    clientFilter?: boolean;
    [name: `x-${string}`]: unknown;
  } | {
    kind: 'token';
    next: string;
    initial?: string | number;
    expired?: {
      status?: number[];
      expr?: string;
      action?: 'full' | 'fail';
      [name: `x-${string}`]: unknown;
    };
    [name: `x-${string}`]: unknown;
  };
  errors?: ErrorRule[];
  filter?: string;
  changeDetection?: {
    mode?: 'hash' | 'field' | 'none';
    field?: FieldPath;
    ignore?: FieldPath[];
    versionGuard?: boolean;
    lookups?: string[];
    [name: `x-${string}`]: unknown;
  };
  enrich?: {
    assignTo: string;
    request: RequestTemplate;
    key?: string;
    when?: string;
    dependsOn?: string[];
    successWhen?: string;
    batch?: {
      size: number;
      results: string;
      keyBy: string;
      [name: `x-${string}`]: unknown;
    };
    select?: string;
    cache?: {
      scope?: 'none' | 'run' | 'connection';
      ttlSeconds?: number;
      negativeTtlSeconds?: number;
      [name: `x-${string}`]: unknown;
    };
    onMissing?: 'null' | 'fail' | 'quarantine';
    onError?: 'fail' | 'null' | 'quarantine';
    [name: `x-${string}`]: unknown;
  }[];
  transform?: string;
  transformNulls?: 'keep' | 'missing';
  validate?: {
    schema: {
      [name: string]: unknown;
    };
    coerce?: boolean;
    maxInvalidRatio?: number;
    [name: `x-${string}`]: unknown;
  };
  onInvalid?: 'fail' | 'quarantine' | 'skip';
  deletes?: {
    mode: 'none';
    [name: `x-${string}`]: unknown;
  } | {
    mode: 'flag';
    when: string;
    effect?: 'soft' | 'hard';
    maxRatio?: number;
    minRecords?: number;
    [name: `x-${string}`]: unknown;
  } | {
    mode: 'full_scan';
    scope?: 'resource' | 'partition';
    effect?: 'soft' | 'hard';
    maxRatio?: number;
    minRecords?: number;
    confirm?: number;
    [name: `x-${string}`]: unknown;
  } | {
    mode: 'endpoint';
    request: RequestTemplate;
    key: string;
    records?: string;
    pagination?: Pagination;
    stopWhen?: string;
    at?: string;
    effect?: 'soft' | 'hard';
    maxRatio?: number;
    minRecords?: number;
    [name: `x-${string}`]: unknown;
  };
  target?: {
    table?: string;
    schema?: string;
    mode?: 'upsert' | 'append' | 'update' | 'replace';
    columns?: {
      [name: string]: {
        type?: string;
        maxLength?: number;
        nullable?: boolean;
        path?: FieldPath;
        [name: `x-${string}`]: unknown;
      };
    };
    evolve?: 'add_columns' | 'none';
    onTypeConflict?: 'quarantine' | 'fail';
    maxRatio?: number;
    minRecords?: number;
    [name: `x-${string}`]: unknown;
  };
  limits?: {
    maxRecords?: number;
    maxDurationSeconds?: number;
    [name: `x-${string}`]: unknown;
  };
  [name: `x-${string}`]: unknown;
};

export type Pagination = {
  kind: 'none';
  size?: number;
  maxPages?: number;
  stopWhen?: string;
  onRepeat?: 'fail' | 'stop';
  onExpired?: {
    status?: number[];
    action?: 'restart_window' | 'fail';
    [name: `x-${string}`]: unknown;
  };
  emptyPage?: 'stop' | 'continue';
  [name: `x-${string}`]: unknown;
} | {
  kind: 'page';
  size?: number;
  maxPages?: number;
  stopWhen?: string;
  onRepeat?: 'fail' | 'stop';
  onExpired?: {
    status?: number[];
    action?: 'restart_window' | 'fail';
    [name: `x-${string}`]: unknown;
  };
  emptyPage?: 'stop' | 'continue';
  inject: {
    in: 'query' | 'header' | 'body';
    name: string;
    [name: `x-${string}`]: unknown;
  };
  start?: number;
  totalPages?: string;
  stable?: boolean;
  shrink?: {
    when: {
      status?: (number | '4xx' | '5xx' | 'network' | 'timeout')[];
      expr?: string;
      [name: `x-${string}`]: unknown;
    };
    min?: number;
    [name: `x-${string}`]: unknown;
  };
  [name: `x-${string}`]: unknown;
} | {
  kind: 'offset';
  size: number;
  maxPages?: number;
  stopWhen?: string;
  onRepeat?: 'fail' | 'stop';
  onExpired?: {
    status?: number[];
    action?: 'restart_window' | 'fail';
    [name: `x-${string}`]: unknown;
  };
  emptyPage?: 'stop' | 'continue';
  inject: {
    in: 'query' | 'header' | 'body';
    name: string;
    [name: `x-${string}`]: unknown;
  };
  step?: 'returned' | 'size';
  start?: number;
  total?: string;
  overlap?: number;
  stable?: boolean;
  shrink?: {
    when: {
      status?: (number | '4xx' | '5xx' | 'network' | 'timeout')[];
      expr?: string;
      [name: `x-${string}`]: unknown;
    };
    min?: number;
    [name: `x-${string}`]: unknown;
  };
  [name: `x-${string}`]: unknown;
} | {
  kind: 'cursor';
  size?: number;
  maxPages?: number;
  stopWhen?: string;
  onRepeat?: 'fail' | 'stop';
  onExpired?: {
    status?: number[];
    action?: 'restart_window' | 'fail';
    [name: `x-${string}`]: unknown;
  };
  emptyPage?: 'stop' | 'continue';
  next: string;
  inject: {
    in: 'query' | 'header' | 'body';
    name: string;
    [name: `x-${string}`]: unknown;
  };
  shrink?: {
    when: {
      status?: (number | '4xx' | '5xx' | 'network' | 'timeout')[];
      expr?: string;
      [name: `x-${string}`]: unknown;
    };
    min?: number;
    [name: `x-${string}`]: unknown;
  };
  [name: `x-${string}`]: unknown;
} | {
  kind: 'next_url';
  size?: number;
  maxPages?: number;
  stopWhen?: string;
  onRepeat?: 'fail' | 'stop';
  onExpired?: {
    status?: number[];
    action?: 'restart_window' | 'fail';
    [name: `x-${string}`]: unknown;
  };
  emptyPage?: 'stop' | 'continue';
  next: string;
  [name: `x-${string}`]: unknown;
} | {
  kind: 'link_header';
  size?: number;
  maxPages?: number;
  stopWhen?: string;
  onRepeat?: 'fail' | 'stop';
  onExpired?: {
    status?: number[];
    action?: 'restart_window' | 'fail';
    [name: `x-${string}`]: unknown;
  };
  emptyPage?: 'stop' | 'continue';
  rel?: string;
  [name: `x-${string}`]: unknown;
} | {
  kind: 'keyset';
  size?: number;
  maxPages?: number;
  stopWhen?: string;
  onRepeat?: 'fail' | 'stop';
  onExpired?: {
    status?: number[];
    action?: 'restart_window' | 'fail';
    [name: `x-${string}`]: unknown;
  };
  emptyPage?: 'stop' | 'continue';
  field: FieldPath;
  unique?: boolean;
  inject: {
    in: 'query' | 'header' | 'body';
    name: string;
    [name: `x-${string}`]: unknown;
  };
  shrink?: {
    when: {
      status?: (number | '4xx' | '5xx' | 'network' | 'timeout')[];
      expr?: string;
      [name: `x-${string}`]: unknown;
    };
    min?: number;
    [name: `x-${string}`]: unknown;
  };
  [name: `x-${string}`]: unknown;
};

export type DestinationSpec = {
  kind: 'postgres';
  url?: string;
  host?: string;
  port?: number | string;
  database?: string;
  user?: string;
  password?: string;
  ssl?: 'verify-full' | 'require' | 'disable';
  ca?: string;
  schema?: string;
  onBehind?: 'fail' | 'start_over';
  [name: `x-${string}`]: unknown;
} | {
  kind: 'sqlserver';
  host: string;
  port?: number | string;
  database: string;
  user?: string;
  password?: string;
  authentication?: {
    kind: 'entra_client_credentials';
    tenantId: string;
    clientId: string;
    clientSecret: string;
    authorityHost?: 'login.microsoftonline.com' | 'login.microsoftonline.us' | 'login.partner.microsoftonline.cn';
    [name: `x-${string}`]: unknown;
  };
  encrypt?: boolean | 'strict';
  ca?: string;
  schema?: string;
  onBehind?: 'fail' | 'start_over';
  [name: `x-${string}`]: unknown;
} | {
  kind: 'webhook';
  url: string;
  signingSecret: string;
  headers?: {
    [name: string]: string;
  };
  batchSize?: number;
  maxBatchBytes?: number;
  timeoutMs?: number;
  parallelism?: number;
  [name: `x-${string}`]: unknown;
};

export type FieldPath = string;

/** What each operation takes and what it responds with. */
export interface Operations {
  /** Create a draft of a spec version. */
  'POST /specs': {
    body: ConnectorSpec | string;
    response: SpecVersionRow;
  };
  /** List the specs with their versions. */
  'GET /specs': {
    response: SpecRow[];
  };
  /**
   * Validate a spec without saving it.
   *
   * An invalid spec is a result, not an error: 200 with `valid: false` and every issue. When the rest is valid, the tests in the spec run, each for at most 5 s and all of them for 30 s, against their mocks alone.
   */
  'POST /specs/{key}/validate': {
    params: {
      key: string;
    };
    body: ConnectorSpec | string;
    response: ValidationResult;
  };
  /**
   * Publish a draft so that connections can pin to it.
   *
   * Rejected with the issues while a test in the spec fails. A published version never changes.
   */
  'POST /specs/{key}/versions/{version}/publish': {
    params: {
      key: string;
      version: string;
    };
    response: SpecVersionRow;
  };
  /**
   * Convert a document of another format into a draft.
   *
   * Nothing is saved. What is guessed is named in the draft: read it before you create it. A body has at most 1 MiB, a document 100,000 values; `css import` reads larger ones from a file.
   */
  'POST /specs/import': {
    body: {
      format: 'airbyte' | 'openapi';
      /** Itself, or its text as JSON or YAML. */
      document: string | JsonObject;
      /** Of the spec; null: from the title. */
      key?: string | null;
    };
    response: {
      spec: JsonObject;
      /** One entry for each list operation or stream. */
      report: {
        name: string;
        status: 'converted' | 'refused';
        /** Where in the document; null: converted. */
        path: string | null;
        reason: string | null;
      }[];
    };
  };
  /** Run a transform expression over one record. */
  'POST /specs/transform-preview': {
    body: {
      /** JSONata. */
      expression: string;
      record: JsonObject;
      lookups?: {
        [name: string]: unknown;
      } | null;
    };
    response: JsonObject;
  };
  /** List the versions of a spec. */
  'GET /specs/{key}/versions': {
    params: {
      key: string;
    };
    response: SpecVersionRow[];
  };
  /** Read a spec version. */
  'GET /specs/{key}/versions/{version}': {
    params: {
      key: string;
      version: string;
    };
    response: SpecVersionRow;
  };
  /** Replace the document of a draft. */
  'PUT /specs/{key}/versions/{version}': {
    params: {
      key: string;
      version: string;
    };
    body: ConnectorSpec | string;
    response: SpecVersionRow;
  };
  /** Delete a draft. */
  'DELETE /specs/{key}/versions/{version}': {
    params: {
      key: string;
      version: string;
    };
    response: Deleted;
  };
  /**
   * Close a published version to new connections.
   *
   * Connections pinned to it continue; new ones and upgrades to it are rejected. Repeating the request changes nothing.
   */
  'POST /specs/{key}/versions/{version}/deprecate': {
    params: {
      key: string;
      version: string;
    };
    response: SpecVersionRow;
  };
  /** List the connections. */
  'GET /connections': {
    response: ConnectionRow[];
  };
  /**
   * Create a connection.
   *
   * It starts as `pending`: activate it before the first sync. Secrets are encrypted and never returned.
   */
  'POST /connections': {
    body: {
      workspaceId: string;
      specKey: string;
      /** A published version. */
      specVersion: string;
      displayName: string;
      externalCustomerId?: string | null;
      /** How long runs of a resource may be refused by the API or the destination before the connection is in error, and its schedules stop. 0: the first refused run is enough. */
      errorAfterMinutes?: number;
      /** Values of the spec's params that are not secret. */
      params: {
        [name: string]: unknown;
      };
      /** Values of the spec's secret params. */
      secrets: {
        [name: string]: unknown;
      };
    };
    response: ConnectionRow;
  };
  /** Read a connection. */
  'GET /connections/{id}': {
    params: {
      id: string;
    };
    response: ConnectionRow;
  };
  /**
   * Change a connection.
   *
   * Absent fields do not change. `params` replace all params, `secrets` merge by key (null deletes one), `specOverridesJson` replaces the overrides (null removes them). Everything is validated together against the effective spec. Later runs use the change; a current run uses only the new secrets. It keeps its spec and params, and is canceled when the change gives its resource another cursor or primary key, or lets it read other records: the next run then starts over, as after an upgrade. `plan` says so for each resource. A change after which a run may delete rows that it no longer finds is rejected with 409 unless `allowDeletes` is true, and nothing changes.
   */
  'PATCH /connections/{id}': {
    params: {
      id: string;
    };
    body: {
      displayName?: string;
      externalCustomerId?: string | null;
      /** How long runs of a resource may be refused by the API or the destination before the connection is in error, and its schedules stop. 0: the first refused run is enough. */
      errorAfterMinutes?: number;
      /** Replaces all params. */
      params?: {
        [name: string]: unknown;
      };
      /** Merged by key into those stored; null deletes one. */
      secrets?: {
        [name: string]: unknown;
      };
      specOverridesJson?: {
        [name: string]: unknown;
      } | null;
      /** Whether only to return the plan. */
      dryRun?: boolean;
      /** Whether later runs may delete rows that they no longer find. */
      allowDeletes?: boolean;
    } | string;
    response: {
      id: string;
      orgId: string;
      workspaceId: string;
      specId: string;
      pinnedSpecVersion: string;
      displayName: string;
      /** The caller's id of the end customer. */
      externalCustomerId: string | null;
      status: ConnectionStatus;
      /** Why it is in error; null: it is not. */
      error: {
        /** As in the error of a run. */
        code: string;
        message: string;
        /** The resource whose run failed. */
        resourceKey: string;
        since: Timestamp;
        /** When it is tested again; it is active again if that succeeds. Null: it is not tested by itself, since only a person can mend it or see whether it is mended. */
        nextTestAt: Timestamp | null;
      } | null;
      /** How long runs of a resource may be refused by the API or the destination before the connection is in error, and its schedules stop. 0: the first refused run is enough. */
      errorAfterMinutes: number;
      paramsJson: JsonObject;
      /** Keyed merge patch on the pinned spec; null without one. */
      specOverridesJson: JsonObject | null;
      /** The accounts that its customer connected, where the provider tells. */
      accounts: {
        /** The resource with a grant of its own; null: the connection. */
        resource: string | null;
        /** What the provider tells of it: the values that `auth.account` of the spec names. */
        values: {
          [name: string]: string;
        };
      }[];
      /** False for a dry run. */
      applied: boolean;
      /** What the change means for each resource; null: it is of names only. */
      plan: {
        /** `resets`: the next run starts over. `breaking`: something stops working. */
        class: 'compatible' | 'resets' | 'breaking';
        /** Parts of the spec other than its resources that differ. */
        changed: string[];
        resources: {
          resourceKey: string;
          /** `resets`: the next run starts over. `breaking`: something stops working. */
          class: 'compatible' | 'resets' | 'breaking';
          /** Fields of the resource that differ. */
          changed: string[];
          /** What the next run resets first; `state`: every known record and the watermark. */
          resets: 'nothing' | 'watermark' | 'state';
          /** Records delivered again although they did not change; `fetched`: those that a run fetches anyway. */
          redelivers: 'nothing' | 'fetched' | 'everything';
          /** Other records are read, or under other keys, or `filter` may keep others, and what is then not found is deleted at the destination, as far as the brake on deletes allows. */
          mayDelete: boolean;
          /** Delivered records keep their old form until then. */
          backfillRecommended: boolean;
          /** The table whose upsert keys change; null: none. */
          rekeyedTable: string | null;
          /** The plan of this resource in words. */
          effect: string;
        }[];
        backfillRecommended: boolean;
        /** Why the change cannot be applied; empty when it can. */
        issues: Issue[];
      } | null;
    };
  };
  /**
   * Delete a connection.
   *
   * Every later request responds with 404, its secrets are removed and its open runs are canceled. Runs, call logs, quarantined records and sync state are removed soon after. Rows at the destination stay.
   */
  'DELETE /connections/{id}': {
    params: {
      id: string;
    };
    response: Deleted;
  };
  /**
   * Start a sync of one resource.
   *
   * Accepted work: poll `GET /runs/:id`. A run on a busy resource waits as `queued`, first in first out.
   */
  'POST /connections/{id}/sync': {
    params: {
      id: string;
    };
    body: {
      /** Key of the resource. */
      resource: string;
    };
    response: RunRow;
  };
  /**
   * Backfill one resource.
   *
   * Reads from a start to the current watermark, which does not change, and delivers the records that differ. It is queued like a sync.
   */
  'POST /connections/{id}/backfill': {
    params: {
      id: string;
    };
    body: {
      /** Key of the resource. */
      resource: string;
      from?: string | number | null;
      /** Also deliver unchanged records again, and do what the brake on deletes held back. */
      force?: boolean;
      rewindTo?: string | null;
    };
    response: RunRow;
  };
  /**
   * Test a connection without delivering anything.
   *
   * Checks its values, obtains credentials, reads one page and connects to the destination. The response says what fails; nothing is delivered, and no run is created.
   */
  'POST /connections/{id}/test': {
    params: {
      id: string;
    };
    query?: {
      /** Key of the resource to read. Absent: the first one that can be read without another. */
      resource?: string;
    };
    response: {
      /** Every step succeeded. */
      ok: boolean;
      steps: {
        /** values: spec, params and secrets fit. source: the API accepts the credentials and a first page can be read. destination: it is reachable and accepts the credentials; for a webhook only the address is checked. */
        step: 'values' | 'source' | 'destination';
        ok: boolean;
        /** As in the error of a run; null when the step succeeded. */
        code: string | null;
        message: string;
        durationMs: number;
      }[];
      /** The requests that were sent, redacted. */
      calls: {
        method: string;
        url: string;
        /** Null: no response arrived. */
        statusCode: number | null;
        durationMs: number;
        errorCode: string | null;
      }[];
    };
  };
  /** Set a connection active. */
  'POST /connections/{id}/activate': {
    params: {
      id: string;
    };
    response: ConnectionRow;
  };
  /**
   * Pause a connection.
   *
   * Running and queued runs are canceled, and schedules do not fire. Missed firings are dropped: the next sync continues from the watermark.
   */
  'POST /connections/{id}/pause': {
    params: {
      id: string;
    };
    response: ConnectionRow;
  };
  /**
   * Pin a connection to another version of its spec.
   *
   * The plan compares both versions resource by resource, with the overrides of the connection. A dry run only returns the plan. The next run performs the resets; a current run of such a resource is canceled. Values that the new version does not declare are dropped. A plan with issues is rejected with 409, and nothing changes.
   */
  'POST /connections/{id}/upgrade-spec': {
    params: {
      id: string;
    };
    body: {
      /** A published version of the same spec. */
      toVersion: string;
      dryRun?: boolean;
    };
    response: SpecUpgrade;
  };
  /**
   * Read the freshness of a connection.
   *
   * The same as a browser with an embed token gets: health of each resource, ages, the last runs.
   */
  'GET /connections/{id}/freshness': {
    params: {
      id: string;
    };
    response: FreshnessView;
  };
  /** List the schedules of a connection. */
  'GET /connections/{id}/schedules': {
    params: {
      id: string;
    };
    response: ScheduleRow[];
  };
  /**
   * Create a schedule for a resource.
   *
   * Created enabled; it fires while the connection is active. A firing creates no run while another run of the resource is still queued. After an outage, one run replaces all missed firings; after a pause, no run does. Temporal drops missed firings that are older than twice the longest interval of the schedule (10 minutes to a day). The event `schedule.skipped` reports them. Nothing fires in an hour that a zone skips; firings in an hour that it repeats fire twice.
   */
  'POST /connections/{id}/schedules': {
    params: {
      id: string;
    };
    body: {
      /** Key of the resource. */
      resourceKey: string;
      /** Minute, hour, day of month, month, day of week; with 6 fields the second comes first. When both day fields are restricted, either may match. `L` is the last day of the month, `5L` its last Friday, `1#2` its second Monday. */
      cron: string;
      /** A zone of the IANA database. */
      timezone?: string;
    };
    response: ScheduleRow;
  };
  /**
   * Enable or disable a schedule.
   *
   * Firings missed while it was disabled are dropped.
   */
  'PATCH /schedules/{id}': {
    params: {
      id: string;
    };
    body: {
      enabled: boolean;
    };
    response: ScheduleRow;
  };
  /**
   * Delete a schedule.
   *
   * Runs that it has started continue.
   */
  'DELETE /schedules/{id}': {
    params: {
      id: string;
    };
    response: Deleted;
  };
  /** List the hooks of a connection. */
  'GET /connections/{id}/hooks': {
    params: {
      id: string;
    };
    response: HookRow[];
  };
  /**
   * Create a hook, through which the upstream starts syncs.
   *
   * Register `url` with the upstream; it and a generated secret are shown only once. A verified request gets 202 once it is stored, and then a run of each resource starts: many requests share one run. The same notification counts once: by its id for 7 days, without an id by its body until its run begins. A request that signs what came before, under another id, is followed by a run a minute later at most. Of the requests beyond those that the org stores in an hour only some are known again; a run follows each of them. If the run fails, another one follows after 1, 5, 15 and 60 minutes, then each hour. Requests are ignored while the connection is not active; one run of each resource follows when it is active again. More than 100 requests at the same time get 429 and `Retry-After`. The handshakes of Slack, Microsoft Graph, Meta and CloudEvents are supported.
   */
  'POST /connections/{id}/hooks': {
    params: {
      id: string;
    };
    body: {
      resourceKeys: string[];
      /** How a request proves that it comes from the upstream. With `none` anyone who has the address can start syncs. */
      verification: (Verification) & ({
        /** Absent: one is generated. Set it if the upstream generates the secret itself. */
        secret?: string;
      });
      dedupe?: Dedupe | null;
      /** The run starts when no request has arrived for this time, */
      debounceSeconds?: number;
      /** or this time after the first request, however many arrive. */
      maxWaitSeconds?: number;
    };
    response: {
      id: string;
      connectionId: string;
      /** Keys of the resources that are synced. */
      resourceKeys: string[];
      verification: Verification;
      /** Null: as the kind of verification defines. */
      dedupe: Dedupe | null;
      debounceSeconds: number;
      maxWaitSeconds: number;
      enabled: boolean;
      createdAt: Timestamp;
      url: string;
      /** Null: you set it, or none is needed. */
      secret: string | null;
    };
  };
  /** Read a hook. */
  'GET /hooks/{id}': {
    params: {
      id: string;
    };
    response: HookRow;
  };
  /**
   * Enable or disable a hook.
   *
   * While it is disabled, its address responds as if the hook did not exist.
   */
  'PATCH /hooks/{id}': {
    params: {
      id: string;
    };
    body: {
      enabled: boolean;
    };
    response: HookRow;
  };
  /**
   * Delete a hook.
   *
   * Runs that it has started continue.
   */
  'DELETE /hooks/{id}': {
    params: {
      id: string;
    };
    response: Deleted;
  };
  /**
   * Replace the address or the secret of a hook.
   *
   * The old value is rejected from now on, without overlap.
   */
  'POST /hooks/{id}/rotate': {
    params: {
      id: string;
    };
    body: {
      replace: ('url' | 'secret')[];
      /** Absent: one is generated. Set it if the upstream generates the secret itself. */
      secret?: string;
    };
    response: {
      id: string;
      connectionId: string;
      /** Keys of the resources that are synced. */
      resourceKeys: string[];
      verification: Verification;
      /** Null: as the kind of verification defines. */
      dedupe: Dedupe | null;
      debounceSeconds: number;
      maxWaitSeconds: number;
      enabled: boolean;
      createdAt: Timestamp;
      /** Null: unchanged. */
      url: string | null;
      /** Null: unchanged, or you set it. */
      secret: string | null;
    };
  };
  /**
   * List the requests to a hook.
   *
   * Those of the last 7 days, newest first, without their contents. An org has at most 1000 of them an hour, by default, that are rejected, ignored or duplicates. More are not listed, and get 429 instead of 401. Of accepted ones 1000 an hour are listed, by default; of more, those that the first runs after them wait for.
   */
  'GET /hooks/{id}/requests': {
    params: {
      id: string;
    };
    response: HookRequestRow[];
  };
  /** List the runs, newest first. */
  'GET /runs': {
    query?: {
      /** Only runs of this connection. */
      connectionId?: string;
      status?: 'queued' | 'running' | 'succeeded' | 'failed' | 'partial' | 'canceled';
      /** Key of the resource. */
      resource?: string;
      trigger?: 'manual' | 'schedule' | 'webhook' | 'backfill';
      /** Requested at or after; ISO 8601 with a zone. */
      since?: string;
      /** How many, newest first: a whole number of at least 1; at most 1000 are returned. Absent: all. */
      limit?: string;
    };
    response: RunRow[];
  };
  /** Read a run. */
  'GET /runs/{id}': {
    params: {
      id: string;
    };
    response: RunRow;
  };
  /** List the outbound HTTP calls of a run. */
  'GET /runs/{id}/calls': {
    params: {
      id: string;
    };
    response: CallLogRow[];
  };
  /** Start a fresh run of the same connection and resource. */
  'POST /runs/{id}/replay': {
    params: {
      id: string;
    };
    response: RunRow;
  };
  /**
   * Cancel a run.
   *
   * The current request is aborted, and the run is canceled within about two seconds. Delivered records stay; the next run records a batch that is still in progress then.
   */
  'POST /runs/{id}/cancel': {
    params: {
      id: string;
    };
    response: RunRow;
  };
  /** List the quarantined records of a connection. */
  'GET /quarantine': {
    query: {
      /** The connection of the records. */
      connectionId: string;
    };
    response: QuarantineRow[];
  };
  /** Read a quarantined record. */
  'GET /quarantine/{id}': {
    params: {
      id: string;
    };
    response: QuarantineRow;
  };
  /**
   * Retry a quarantined record.
   *
   * Resolves the record and marks it for retry: the next run of its resource starts with it, as it was stored, under the spec of that run. A record that is still invalid is quarantined again. Retrying a resolved record changes nothing. A record that was too large to store (`too_large`) is only resolved: it is read again when it changes, or by a backfill with `force`.
   */
  'POST /quarantine/{id}/requeue': {
    params: {
      id: string;
    };
    response: QuarantineRow;
  };
  /** Retry all quarantined records of a connection. */
  'POST /quarantine/requeue': {
    body: {
      connectionId: string;
      resourceKey?: string | null;
    };
    response: {
      /** Records that were not resolved before. */
      requeued: number;
    };
  };
  /**
   * Create an API key.
   *
   * It takes the workspace, the scopes and the expiry over from the key that creates it; it may expire earlier. Every key can do everything in its org.
   */
  'POST /api-keys': {
    body?: {
      expiresAt?: string | null;
    };
    response: {
      id: string;
      /** Shown once; it cannot be recovered. */
      key: string;
    };
  };
  /**
   * List the API keys, revoked ones too.
   *
   * One that was revoked or has expired is listed for as long as the deployment keeps it: 90 days by default.
   */
  'GET /api-keys': {
    response: ApiKeyRow[];
  };
  /** Revoke an API key. */
  'DELETE /api-keys/{id}': {
    params: {
      id: string;
    };
    query?: {
      /** Whether the keys that it has created are revoked too, those that they have created, and so on. */
      withDescendants?: 'true' | 'false';
    };
    response: ApiKeyRow;
  };
  /**
   * Create a token for a browser.
   *
   * It reads one connection through `GET /embed/connection`, and does what its scopes allow, until it expires. Your server requests it for the widget at `/embed/freshness.js`; the API key never leaves your server.
   */
  'POST /tokens/embed': {
    body: {
      connectionId: string;
      /** What the customer may do in your page: `sync` begins runs, `pause` pauses and resumes, `reauthorize` opens a connect session. `read` is always part of it. */
      scopes?: ('read' | 'sync' | 'pause' | 'reauthorize')[];
      ttlSeconds?: number;
    };
    response: {
      token: string;
      /** Epoch seconds. */
      expiresAt: number;
    };
  };
  /**
   * Read the freshness of the connection of an embed token.
   *
   * Also for pages of other origins (CORS). On 401 let your server request a new token; 404: the connection was deleted.
   */
  'GET /embed/connection': {
    response: FreshnessView;
  };
  /**
   * Sync the connection of an embed token.
   *
   * Every resource that no run of is queued or running. Needs the scope `sync`.
   */
  'POST /embed/connection/sync': {
    response: {
      runs: {
        id: string;
        resourceKey: string;
        status: RunStatus;
      }[];
    };
  };
  /**
   * Pause the connection of an embed token.
   *
   * As `POST /connections/:id/pause`. Needs the scope `pause`.
   */
  'POST /embed/connection/pause': {
    response: FreshnessView;
  };
  /**
   * End the pause of the connection of an embed token.
   *
   * Only of a paused one. Needs the scope `pause`.
   */
  'POST /embed/connection/resume': {
    response: FreshnessView;
  };
  /**
   * Let the customer of an embed token connect again.
   *
   * Makes a connect session for its connection, as `POST /connect-sessions` does with its id alone. It takes the place of an earlier one. Open `url` in a window. Needs the scope `reauthorize`.
   */
  'POST /embed/connection/reauthorize': {
    response: {
      url: string;
      expiresAt: Timestamp;
    };
  };
  /**
   * List the latest attempts to deliver events.
   *
   * One element for each request that was or will be sent, newest first.
   */
  'GET /webhook-deliveries': {
    query?: {
      /** How many, newest first: a whole number of at least 1; at most 200 are returned. */
      limit?: string;
    };
    response: WebhookDeliveryView[];
  };
  /** Read an attempt with its request and response. */
  'GET /webhook-deliveries/{id}': {
    params: {
      id: string;
    };
    response: WebhookDeliveryDetail;
  };
  /**
   * Send a delivery once more.
   *
   * Sends the same bytes under the same `webhook-id`, signed with the current secret, in one attempt without retries: a new element of the log, which shows the result later. It goes to the original endpoint, even a disabled one, or to the oldest endpoint if the original was deleted. When it succeeds, the automatic attempts of that event end. Beyond 1000 tests and redeliveries of the org in 24 hours, by default, it gets 429. To send many events again, recover their endpoint.
   */
  'POST /webhook-deliveries/{id}/redeliver': {
    params: {
      id: string;
    };
    body?: {
      endpointId?: string | null;
    };
    response: WebhookDeliveryView;
  };
  /**
   * Begin the authorization of a connection.
   *
   * Send the customer to `authorizeUrl`: it contains a state that can be used once, within 10 minutes. Register the address of `/oauth/callback` with the provider as redirect URI. A resource with its own `auth` is authorized separately.
   */
  'GET /oauth/{connectionId}/authorize': {
    params: {
      connectionId: string;
    };
    query?: {
      /** Key of a resource whose own `auth` is authorized; absent: that of the spec. */
      resource?: string;
      /** Whether the customer may sign in to another account than before: everything is then read from the start. */
      newAccount?: 'true' | 'false';
      /** A page of yours, on one of `returnOrigins`. The grant then waits until your server confirms it. The page gets `code`, for `POST /oauth/confirm`, or `error`. */
      returnUrl?: string;
    };
    response: {
      /** The page of the provider where the customer agrees. */
      authorizeUrl: string;
    };
  };
  /**
   * Finish the authorization of a connection.
   *
   * Where the provider sends the customer back to; the signed state is the credential. Stores the tokens, encrypted, and activates the connection once nothing else needs authorization. When the customer declined there is no `code`: 400, or with a `returnUrl` an `error` for your page.
   */
  'GET /oauth/callback': {
    query: {
      /** From the provider; absent only where the spec gives it another name. */
      code?: string;
      /** The unchanged `state` of `authorizeUrl`. */
      state: string;
      /** The provider's issuer identifier (RFC 9207), if it sends one. */
      iss?: string;
    };
    response: {
      connected: true;
      connectionId: string;
      /** Resources whose own authorization is still missing; null: that of the spec. The status of the connection does not change until the list is empty. */
      awaiting?: (string | null)[];
    };
  };
  /**
   * Confirm an authorization that began with a return URL.
   *
   * Takes the `code` that came to your page, once, within 10 minutes. Take the connection from the session of that browser, never from its address: a code of another connection is a 404. Stores the tokens and activates the connection as the callback does otherwise.
   */
  'POST /oauth/confirm': {
    body: {
      connectionId: string;
      code: string;
    };
    response: {
      connected: true;
      connectionId: string;
      /** Resources whose own authorization is still missing; null: that of the spec. The status of the connection does not change until the list is empty. */
      awaiting?: (string | null)[];
    };
  };
  /**
   * Bring along the tokens of a customer who has authorized elsewhere.
   *
   * They must be of the same client at the provider. A refresh token is used at once, then a page is read; only then are the tokens stored, encrypted, and the connection becomes active as after an authorization. 409 when the provider or the API refuses them: the connection is as before. Tokens that the provider has given by then are kept, and the same request with the cause removed goes on with them.
   */
  'POST /connections/{id}/tokens': {
    params: {
      id: string;
    };
    body: {
      accessToken: string;
      refreshToken?: string | null;
      expiresAt?: string | null;
      /** Values that expressions see as `auth`. Those of `callback.metadata` of the spec are required, and one of `account` if the provider does not give it again. */
      metadata?: {
        [name: string]: string | number | boolean;
      };
      resource?: string | null;
      /** Whether they may be of another account than before: everything is then read from the start. */
      newAccount?: boolean;
    };
    response: {
      connected: true;
      connectionId: string;
      /** Resources whose own authorization is still missing; null: that of the spec. The status of the connection does not change until the list is empty. */
      awaiting?: (string | null)[];
    };
  };
  /** Read how customers of the org may authorize connections. */
  'GET /oauth/settings': {
    response: AuthorizationSettings;
  };
  /**
   * Change how customers of the org may authorize connections.
   *
   * Absent fields do not change. Authorizations in progress are held to what is set when they end.
   */
  'PATCH /oauth/settings': {
    body: {
      /** The origins that `returnUrl` may have. */
      returnOrigins?: string[];
      /** Whether every authorization needs a `returnUrl`, and is confirmed by `POST /oauth/confirm`. */
      confirmationRequired?: boolean;
    };
    response: AuthorizationSettings;
  };
  /**
   * Create an OAuth app of the org.
   *
   * A client at a provider for the connections of all customers: a spec names it by `auth.app`. The app of the kind of a connection’s workspace counts before the one without a kind. Register the address of `/oauth/callback` with the provider as redirect URI.
   */
  'POST /oauth-apps': {
    body: {
      key: string;
      workspaceKind?: 'dev' | 'staging' | 'prod' | null;
      clientId: string;
      clientSecret?: string | null;
      /** Whether customers whose connections are authorized with another client id may have to do so again. */
      allowReauthorization?: boolean;
    };
    response: {
      id: string;
      /** What `auth.app` of a spec names. */
      key: string;
      /** Null: for connections of each workspace whose kind has no app of that key. */
      workspaceKind: 'dev' | 'staging' | 'prod' | null;
      clientId: string;
      /** False: a public client. */
      hasSecret: boolean;
      createdAt: Timestamp;
      updatedAt: Timestamp;
      /** Connections with a grant of another client id: their customers have to authorize again. */
      connectionsToAuthorize: number;
    };
  };
  /** List the OAuth apps of the org. */
  'GET /oauth-apps': {
    response: {
      id: string;
      /** What `auth.app` of a spec names. */
      key: string;
      /** Null: for connections of each workspace whose kind has no app of that key. */
      workspaceKind: 'dev' | 'staging' | 'prod' | null;
      clientId: string;
      /** False: a public client. */
      hasSecret: boolean;
      createdAt: Timestamp;
      updatedAt: Timestamp;
    }[];
  };
  /** Read an OAuth app of the org. */
  'GET /oauth-apps/{id}': {
    params: {
      id: string;
    };
    response: {
      id: string;
      /** What `auth.app` of a spec names. */
      key: string;
      /** Null: for connections of each workspace whose kind has no app of that key. */
      workspaceKind: 'dev' | 'staging' | 'prod' | null;
      clientId: string;
      /** False: a public client. */
      hasSecret: boolean;
      createdAt: Timestamp;
      updatedAt: Timestamp;
    };
  };
  /**
   * Change an OAuth app of the org.
   *
   * Absent fields do not change. The next token request of each connection uses the new secret, also in a current run. Another `clientId` ends the grants of the connections that use the app: 409 unless `allowReauthorization` is true. Connections in error are tested at once.
   */
  'PATCH /oauth-apps/{id}': {
    params: {
      id: string;
    };
    body: {
      clientId?: string;
      clientSecret?: string | null;
      /** Whether customers whose connections are authorized with another client id may have to do so again. */
      allowReauthorization?: boolean;
    };
    response: {
      id: string;
      /** What `auth.app` of a spec names. */
      key: string;
      /** Null: for connections of each workspace whose kind has no app of that key. */
      workspaceKind: 'dev' | 'staging' | 'prod' | null;
      clientId: string;
      /** False: a public client. */
      hasSecret: boolean;
      createdAt: Timestamp;
      updatedAt: Timestamp;
      /** Connections with a grant of another client id: their customers have to authorize again. */
      connectionsToAuthorize: number;
    };
  };
  /**
   * Delete an OAuth app of the org.
   *
   * Refused with 409 while the current spec of a connection uses it.
   */
  'DELETE /oauth-apps/{id}': {
    params: {
      id: string;
    };
    response: Deleted;
  };
  /** List the workspaces. */
  'GET /workspaces': {
    response: WorkspaceRow[];
  };
  /** Create a workspace. */
  'POST /workspaces': {
    body: {
      name: string;
      kind: 'dev' | 'staging' | 'prod';
    };
    response: WorkspaceRow;
  };
  /**
   * Create a webhook endpoint.
   *
   * Events from now on are sent to it, signed according to Standard Webhooks. The host is resolved now, and again for every request: addresses that are not public are rejected.
   */
  'POST /webhook-endpoints': {
    body: {
      /** An https URL of a public address, without credentials and fragment. */
      url: string;
      description?: string | null;
      eventTypes?: EventType[] | null;
      connectionIds?: string[] | null;
      workspaceIds?: string[] | null;
      secret?: string | null;
      /** False: events are stored as skipped, and can be recovered. */
      enabled?: boolean;
      rateLimitPerSecond?: number | null;
      /** Concurrent requests at most. */
      maxInFlight?: number;
      /** For the whole request and its response. */
      timeoutMs?: number;
      /** `fifo`: one request at a time, and an event waits until the one before it was delivered or its last attempt has failed. */
      ordering?: 'any' | 'fifo';
      /** In addition to `v1` (HMAC), requests can carry `v1a`, a signature that a public key verifies. */
      signatureSchemes?: ('v1' | 'v1a')[];
      /** Sends `webhook.test` at once; `GET /webhook-deliveries` shows the result. */
      verifyOnCreate?: boolean;
    };
    response: {
      id: string;
      orgId: string;
      url: string;
      description: string | null;
      /** Null: every type that is on by default. */
      eventTypes: EventType[] | null;
      /** Null: of every connection. */
      connectionIds: string[] | null;
      /** Null: of every workspace. */
      workspaceIds: string[] | null;
      enabled: boolean;
      /** Null while it is enabled. */
      disabledReason: 'manual' | 'gone' | 'failing' | null;
      state: 'ok' | 'probing' | 'paused' | 'disabled';
      /** Null: limited by `maxInFlight` only. */
      rateLimitPerSecond: number | null;
      /** Concurrent requests at most. */
      maxInFlight: number;
      /** For the whole request and its response. */
      timeoutMs: number;
      ordering: 'any' | 'fifo';
      signatureSchemes: ('v1' | 'v1a')[];
      /** The last four characters of the current secret. */
      secretHint: string;
      /** `whpk_…`, with which `v1a` is verified; null without it. */
      publicKey: string | null;
      createdAt: Timestamp;
      lastSuccessAt: Timestamp | null;
      /** Of the current failures in a row; null: there are none. */
      firstFailureAt: Timestamp | null;
      /** Present only when it was generated here. Shown once; it cannot be recovered. */
      secret?: string;
    };
  };
  /** List the webhook endpoints. */
  'GET /webhook-endpoints': {
    response: WebhookEndpointRow[];
  };
  /** Read a webhook endpoint. */
  'GET /webhook-endpoints/{id}': {
    params: {
      id: string;
    };
    response: WebhookEndpointRow;
  };
  /**
   * Change a webhook endpoint.
   *
   * Absent fields do not change; `rotate-secret` changes the secret. `enabled: false` keeps pending events until it is enabled again. `enabled: true` clears failures and pauses, also of an enabled endpoint, and pending events are sent at once.
   */
  'PATCH /webhook-endpoints/{id}': {
    params: {
      id: string;
    };
    body: {
      /** An https URL of a public address, without credentials and fragment. */
      url?: string;
      description?: string | null;
      eventTypes?: EventType[] | null;
      connectionIds?: string[] | null;
      workspaceIds?: string[] | null;
      /** False: events are stored as skipped, and can be recovered. */
      enabled?: boolean;
      rateLimitPerSecond?: number | null;
      /** Concurrent requests at most. */
      maxInFlight?: number;
      /** For the whole request and its response. */
      timeoutMs?: number;
      /** `fifo`: one request at a time, and an event waits until the one before it was delivered or its last attempt has failed. */
      ordering?: 'any' | 'fifo';
      /** In addition to `v1` (HMAC), requests can carry `v1a`, a signature that a public key verifies. */
      signatureSchemes?: ('v1' | 'v1a')[];
    };
    response: WebhookEndpointRow;
  };
  /**
   * Delete a webhook endpoint.
   *
   * Its pending events are canceled and its secrets are removed; the log of its deliveries stays.
   */
  'DELETE /webhook-endpoints/{id}': {
    params: {
      id: string;
    };
    response: Deleted;
  };
  /**
   * Replace the secret of a webhook endpoint.
   *
   * Requests are signed with the new secret, and also with the previous one until that expires. An endpoint with `v1a` also gets a new key pair. At most three secrets sign at the same time.
   */
  'POST /webhook-endpoints/{id}/rotate-secret': {
    params: {
      id: string;
    };
    body?: {
      secret?: string | null;
      /** How long the previous secret continues to sign. */
      overlapSeconds?: number;
    };
    response: {
      id: string;
      /** Present only when it was generated here. Shown once; it cannot be recovered. */
      secret?: string;
      /** ISO 8601, UTC. */
      previousExpiresAt: string;
    };
  };
  /**
   * Send an example of an event to a webhook endpoint.
   *
   * Sends one real request, even to a disabled endpoint. The delivery shows the result. Beyond 1000 tests and redeliveries of the org in 24 hours, by default, it gets 429.
   */
  'POST /webhook-endpoints/{id}/test': {
    params: {
      id: string;
    };
    body?: {
      eventType?: EventType;
    };
    response: WebhookDeliveryView;
  };
  /**
   * Send past events to a webhook endpoint.
   *
   * Sends them again, oldest first, with all automatic attempts. Events that the endpoint has accepted, or that are still pending, are not sent again. Poll `GET /webhook-recoveries/:id`. Beyond 100 recoveries of the org in 24 hours, by default, it gets 429.
   */
  'POST /webhook-endpoints/{id}/recover': {
    params: {
      id: string;
    };
    body: {
      /** Events from then on. */
      since: string;
      until?: string | null;
      /** failed: every attempt failed. skipped: the endpoint was disabled. missing: it did not exist, or did not subscribe to them; `run.started` is recorded only while an endpoint of the org names it. */
      include: ('failed' | 'skipped' | 'missing')[];
    };
    response: WebhookRecovery;
  };
  /** Read the health of a webhook endpoint. */
  'GET /webhook-endpoints/{id}/stats': {
    params: {
      id: string;
    };
    query?: {
      /** The period whose attempts are counted. */
      window?: '1h' | '24h' | '7d' | '30d';
    };
    response: WebhookEndpointStats;
  };
  /** Read the progress of a recovery. */
  'GET /webhook-recoveries/{id}': {
    params: {
      id: string;
    };
    response: WebhookRecovery;
  };
  /** List the types of events, each with its JSON Schema and an example. */
  'GET /webhook-event-types': {
    response: EventTypeRow[];
  };
  /** List the ready connectors. */
  'GET /catalogue': {
    response: {
      key: string;
      name: string;
      version: string;
      description: string;
      tags: string[];
      /** How its requests prove who they are: `auth.kind`. */
      authKind: string;
      resources: string[];
      verifiedAgainst: {
        /** A real server; the vendor's own description of the API; only the tests in the spec. */
        kind: 'server' | 'description' | 'tests';
        statement: string;
        /** The day; null: only its tests were run, as they are with each change. */
        on: string | null;
      };
    }[];
  };
  /**
   * Read a ready connector: its spec and its page.
   *
   * To use it, create a draft from `spec` by `POST /specs`, and publish it.
   */
  'GET /catalogue/{key}': {
    params: {
      key: string;
    };
    response: {
      key: string;
      name: string;
      version: string;
      description: string;
      tags: string[];
      /** How its requests prove who they are: `auth.kind`. */
      authKind: string;
      resources: string[];
      verifiedAgainst: {
        /** A real server; the vendor's own description of the API; only the tests in the spec. */
        kind: 'server' | 'description' | 'tests';
        statement: string;
        /** The day; null: only its tests were run, as they are with each change. */
        on: string | null;
      };
      /** A body for `POST /specs`. It has no `destination`. */
      spec: {
        [name: string]: unknown;
      };
      /** Markdown. */
      readme: string;
    };
  };
  /**
   * Let a customer connect.
   *
   * Send the customer to `url`, or give `token` to the widget on your page. They enter what you do not fix, consent at the provider, and see the test. The connection becomes active when it succeeds. What a session has made and does not finish is removed when it ends.
   */
  'POST /connect-sessions': {
    body: {
      connectionId?: string | null;
      workspaceId?: string | null;
      specKey?: string | null;
      specVersion?: string | null;
      displayName?: string | null;
      externalCustomerId?: string | null;
      /** Values that you fix: the customer neither sees nor changes them. */
      params?: JsonObject;
      /** Secret values that you fix. */
      secrets?: JsonObject;
      overrides?: {
        [name: string]: unknown;
      } | null;
      ask?: string[] | null;
      /** Whether they may sign in to another account than before: everything is then read from the start. */
      newAccount?: boolean;
      /** Keys of the resources that are synced as soon as the customer is connected. */
      resources?: string[];
      /** Schedules that are made when the customer is connected. */
      schedules?: {
        resourceKey: string;
        /** 5 fields, or 6 with the second first. */
        cron: string;
        /** A zone of the IANA database. */
        timezone?: string;
      }[];
      returnUrl?: string | null;
      /** The origins of your pages that show the widget. Empty: nobody frames the page. */
      allowedOrigins?: string[];
      /** How long the customer has. */
      ttlSeconds?: number;
    };
    response: {
      id: string;
      /** For this session alone; shown once. It is no API key and no embed token. */
      token: string;
      /** The page, with the token behind `#`, which no server or log sees. */
      url: string;
      expiresAt: Timestamp;
    };
  };
  /** List the connect sessions, ended ones too. */
  'GET /connect-sessions': {
    response: {
      id: string;
      /** Only an open one takes anything from the customer. */
      state: 'open' | 'connected' | 'expired' | 'canceled';
      /** Where the customer is. values: the form. authorize: consent at the provider. test: the test of the connection. confirm: your server is to confirm who it was. done: the session has ended. */
      step: 'values' | 'authorize' | 'test' | 'confirm' | 'done';
      /** Null: nothing was entered yet, or what it made is removed. */
      connectionId: string | null;
      specKey: string;
      displayName: string;
      /** The caller's id of the end customer. */
      externalCustomerId: string | null;
      /** Why the last act of the customer failed. Null: it did not. */
      problem: {
        /** As in the error of a request or a run; or `access_denied` and others of the provider, `other_account`, `other_browser`. */
        code: string;
        /** For you; the customer gets words of their own. */
        message: string;
      } | null;
      createdAt: Timestamp;
      /** When a customer first opened it. Null: not yet. */
      openedAt: Timestamp | null;
      expiresAt: Timestamp;
      /** Null: it is open. */
      endedAt: Timestamp | null;
    }[];
  };
  /**
   * Confirm who was there.
   *
   * Takes the `code` that came to your `returnUrl`, once. Take the session from the session of that browser, never from its address: a code of another session is a 404. The connection then becomes active.
   */
  'POST /connect-sessions/confirm': {
    body: {
      sessionId: string;
      code: string;
    };
    response: {
      id: string;
      /** Only an open one takes anything from the customer. */
      state: 'open' | 'connected' | 'expired' | 'canceled';
      /** Where the customer is. values: the form. authorize: consent at the provider. test: the test of the connection. confirm: your server is to confirm who it was. done: the session has ended. */
      step: 'values' | 'authorize' | 'test' | 'confirm' | 'done';
      /** Null: nothing was entered yet, or what it made is removed. */
      connectionId: string | null;
      specKey: string;
      displayName: string;
      /** The caller's id of the end customer. */
      externalCustomerId: string | null;
      /** Why the last act of the customer failed. Null: it did not. */
      problem: {
        /** As in the error of a request or a run; or `access_denied` and others of the provider, `other_account`, `other_browser`. */
        code: string;
        /** For you; the customer gets words of their own. */
        message: string;
      } | null;
      createdAt: Timestamp;
      /** When a customer first opened it. Null: not yet. */
      openedAt: Timestamp | null;
      expiresAt: Timestamp;
      /** Null: it is open. */
      endedAt: Timestamp | null;
    };
  };
  /** Read where a customer is. */
  'GET /connect-sessions/{id}': {
    params: {
      id: string;
    };
    response: {
      id: string;
      /** Only an open one takes anything from the customer. */
      state: 'open' | 'connected' | 'expired' | 'canceled';
      /** Where the customer is. values: the form. authorize: consent at the provider. test: the test of the connection. confirm: your server is to confirm who it was. done: the session has ended. */
      step: 'values' | 'authorize' | 'test' | 'confirm' | 'done';
      /** Null: nothing was entered yet, or what it made is removed. */
      connectionId: string | null;
      specKey: string;
      displayName: string;
      /** The caller's id of the end customer. */
      externalCustomerId: string | null;
      /** Why the last act of the customer failed. Null: it did not. */
      problem: {
        /** As in the error of a request or a run; or `access_denied` and others of the provider, `other_account`, `other_browser`. */
        code: string;
        /** For you; the customer gets words of their own. */
        message: string;
      } | null;
      createdAt: Timestamp;
      /** When a customer first opened it. Null: not yet. */
      openedAt: Timestamp | null;
      expiresAt: Timestamp;
      /** Null: it is open. */
      endedAt: Timestamp | null;
    };
  };
  /**
   * End a connect session.
   *
   * Its token is good for nothing then. A connection that it has made and that is not active is deleted.
   */
  'DELETE /connect-sessions/{id}': {
    params: {
      id: string;
    };
    response: {
      id: string;
      /** Only an open one takes anything from the customer. */
      state: 'open' | 'connected' | 'expired' | 'canceled';
      /** Where the customer is. values: the form. authorize: consent at the provider. test: the test of the connection. confirm: your server is to confirm who it was. done: the session has ended. */
      step: 'values' | 'authorize' | 'test' | 'confirm' | 'done';
      /** Null: nothing was entered yet, or what it made is removed. */
      connectionId: string | null;
      specKey: string;
      displayName: string;
      /** The caller's id of the end customer. */
      externalCustomerId: string | null;
      /** Why the last act of the customer failed. Null: it did not. */
      problem: {
        /** As in the error of a request or a run; or `access_denied` and others of the provider, `other_account`, `other_browser`. */
        code: string;
        /** For you; the customer gets words of their own. */
        message: string;
      } | null;
      createdAt: Timestamp;
      /** When a customer first opened it. Null: not yet. */
      openedAt: Timestamp | null;
      expiresAt: Timestamp;
      /** Null: it is open. */
      endedAt: Timestamp | null;
    };
  };
  /** Read how the page for customers looks. */
  'GET /connect-settings': {
    response: {
      /** How customers know you. Null: the name of the org. */
      name: string | null;
      /** The color of buttons; their text is black or white. Null: blue. */
      color: string | null;
      /** A picture as a data URL of at most 60,000 characters. Null: none. */
      logo: string | null;
    };
  };
  /**
   * Change how the page for customers looks.
   *
   * Absent fields do not change.
   */
  'PATCH /connect-settings': {
    body: {
      /** How customers know you. Null: the name of the org. */
      name?: string | null;
      /** The color of buttons; their text is black or white. Null: blue. */
      color?: string | null;
      /** A picture as a data URL of at most 60,000 characters. Null: none. */
      logo?: string | null;
    };
    response: {
      /** How customers know you. Null: the name of the org. */
      name: string | null;
      /** The color of buttons; their text is black or white. Null: blue. */
      color: string | null;
      /** A picture as a data URL of at most 60,000 characters. Null: none. */
      logo: string | null;
    };
  };
  /**
   * Read the connect session of a token.
   *
   * Without all that the org has fixed. Also when it has ended.
   */
  'GET /connect': {
    response: {
      id: string;
      /** Only an open one takes anything from the customer. */
      state: 'open' | 'connected' | 'expired' | 'canceled';
      /** Where the customer is. values: the form. authorize: consent at the provider. test: the test of the connection. confirm: your server is to confirm who it was. done: the session has ended. */
      step: 'values' | 'authorize' | 'test' | 'confirm' | 'done';
      /** The name of the spec. */
      connector: string;
      org: {
        name: string;
        color: string | null;
        logo: string | null;
      };
      /** Empty: there is nothing to enter. */
      fields: {
        key: string;
        label: string;
        description: string | null;
        example: string | null;
        helpUrl: string | null;
        type: 'string' | 'integer' | 'number' | 'boolean' | 'url' | 'string_list' | 'json';
        format: string | null;
        pattern: string | null;
        /** The only values allowed. Null: every one of the type. */
        choices: unknown[] | null;
        minLength: number | null;
        maxLength: number | null;
        min: number | null;
        max: number | null;
        required: boolean;
        secret: boolean;
        /** What is stored, or the default; null: neither, or it is secret. */
        value: unknown;
        /** Whether a value is stored; an empty secret then stays as it is. */
        isStored: boolean;
      }[];
      /** How many consents at the provider there are, and how many are needed. */
      consents: {
        given: number;
        needed: number;
      };
      /** Whether only the browser that consented can finish, by what came to it behind `#proof=`. */
      needsProof: boolean;
      /** Parts whose test has succeeded. */
      tested: ('source' | 'destination')[];
      /** The code of why the last act failed. */
      problem: string | null;
      /** Null until the customer is connected. */
      connectionId: string | null;
      /** The pages that may frame it, and get its events. */
      allowedOrigins: string[];
      /** Whether the customer is sent back at the end, and the org confirms. */
      returns: boolean;
      expiresAt: Timestamp;
    };
  };
  /**
   * Enter the values of a connect session.
   *
   * All that are asked for; an absent secret stays as it is. Checked as those of a connection.
   */
  'PUT /connect/values': {
    body: {
      values: JsonObject;
    };
    response: {
      id: string;
      /** Only an open one takes anything from the customer. */
      state: 'open' | 'connected' | 'expired' | 'canceled';
      /** Where the customer is. values: the form. authorize: consent at the provider. test: the test of the connection. confirm: your server is to confirm who it was. done: the session has ended. */
      step: 'values' | 'authorize' | 'test' | 'confirm' | 'done';
      /** The name of the spec. */
      connector: string;
      org: {
        name: string;
        color: string | null;
        logo: string | null;
      };
      /** Empty: there is nothing to enter. */
      fields: {
        key: string;
        label: string;
        description: string | null;
        example: string | null;
        helpUrl: string | null;
        type: 'string' | 'integer' | 'number' | 'boolean' | 'url' | 'string_list' | 'json';
        format: string | null;
        pattern: string | null;
        /** The only values allowed. Null: every one of the type. */
        choices: unknown[] | null;
        minLength: number | null;
        maxLength: number | null;
        min: number | null;
        max: number | null;
        required: boolean;
        secret: boolean;
        /** What is stored, or the default; null: neither, or it is secret. */
        value: unknown;
        /** Whether a value is stored; an empty secret then stays as it is. */
        isStored: boolean;
      }[];
      /** How many consents at the provider there are, and how many are needed. */
      consents: {
        given: number;
        needed: number;
      };
      /** Whether only the browser that consented can finish, by what came to it behind `#proof=`. */
      needsProof: boolean;
      /** Parts whose test has succeeded. */
      tested: ('source' | 'destination')[];
      /** The code of why the last act failed. */
      problem: string | null;
      /** Null until the customer is connected. */
      connectionId: string | null;
      /** The pages that may frame it, and get its events. */
      allowedOrigins: string[];
      /** Whether the customer is sent back at the end, and the org confirms. */
      returns: boolean;
      expiresAt: Timestamp;
    };
  };
  /**
   * Begin the consent of a connect session.
   *
   * The response sets a cookie: only this browser can finish the consent.
   */
  'POST /connect/authorize': {
    response: {
      /** The page of the provider. */
      authorizeUrl: string;
    };
  };
  /**
   * Test one part of what a connect session made.
   *
   * As the test of a connection, without its words: they are in `problem` of the session, for the org.
   */
  'POST /connect/test': {
    body: {
      step: 'source' | 'destination';
    };
    response: {
      step: 'source' | 'destination';
      ok: boolean;
      /** As in the error of a run; null when the step succeeded. */
      code: string | null;
      durationMs: number;
      /** Whether the customer can mend it by other values or another consent. */
      isTheirs: boolean;
    };
  };
  /**
   * Finish a connect session.
   *
   * After both parts were tested, by the browser that consented. The connection becomes active, or waits until the org confirms it.
   */
  'POST /connect/finish': {
    body?: {
      /** What came to this browser behind `#proof=` after each consent; without consent none. */
      proofs?: string[];
    };
    response: {
      view: {
        id: string;
        /** Only an open one takes anything from the customer. */
        state: 'open' | 'connected' | 'expired' | 'canceled';
        /** Where the customer is. values: the form. authorize: consent at the provider. test: the test of the connection. confirm: your server is to confirm who it was. done: the session has ended. */
        step: 'values' | 'authorize' | 'test' | 'confirm' | 'done';
        /** The name of the spec. */
        connector: string;
        org: {
          name: string;
          color: string | null;
          logo: string | null;
        };
        /** Empty: there is nothing to enter. */
        fields: {
          key: string;
          label: string;
          description: string | null;
          example: string | null;
          helpUrl: string | null;
          type: 'string' | 'integer' | 'number' | 'boolean' | 'url' | 'string_list' | 'json';
          format: string | null;
          pattern: string | null;
          /** The only values allowed. Null: every one of the type. */
          choices: unknown[] | null;
          minLength: number | null;
          maxLength: number | null;
          min: number | null;
          max: number | null;
          required: boolean;
          secret: boolean;
          /** What is stored, or the default; null: neither, or it is secret. */
          value: unknown;
          /** Whether a value is stored; an empty secret then stays as it is. */
          isStored: boolean;
        }[];
        /** How many consents at the provider there are, and how many are needed. */
        consents: {
          given: number;
          needed: number;
        };
        /** Whether only the browser that consented can finish, by what came to it behind `#proof=`. */
        needsProof: boolean;
        /** Parts whose test has succeeded. */
        tested: ('source' | 'destination')[];
        /** The code of why the last act failed. */
        problem: string | null;
        /** Null until the customer is connected. */
        connectionId: string | null;
        /** The pages that may frame it, and get its events. */
        allowedOrigins: string[];
        /** Whether the customer is sent back at the end, and the org confirms. */
        returns: boolean;
        expiresAt: Timestamp;
      };
      /** Where the customer goes; null: they stay. */
      returnAddress: string | null;
    };
  };
}

/** What an event is about, by its type. */
export interface EventData {
  /** A run has started. */
  'run.started': {
    run: RunRow;
    connection: EventConnection;
  };
  /** A run has ended, and every record it fetched is delivered or known. */
  'run.succeeded': {
    run: RunRow;
    connection: EventConnection;
    quarantined: 0;
  };
  /** A run has ended, but not every record was delivered: some were quarantined, or a limit ended the read. */
  'run.partial': {
    run: RunRow;
    connection: EventConnection;
    /** Quarantined records; 0: a limit of the spec ended the read early. */
    quarantined: number;
    /** Of those, the ones that the destination rejected. */
    rejected: number;
  };
  /** A run has failed; the next one continues from the watermark. */
  'run.failed': {
    run: RunRow;
    connection: EventConnection;
    error: {
      code: string;
      message: string;
      /** A later run may succeed without any correction. */
      retryable: boolean;
      /** Null: not known. */
      stage: 'auth' | 'fetch' | 'enrich' | 'transform' | 'validate' | 'deliver' | null;
    };
  };
  /** A run was canceled, or did not start because its connection is not active. */
  'run.canceled': {
    run: RunRow;
    connection: EventConnection;
    /** requested: through the API, or by an upgrade that lets the resource start over. connection_not_active: it was paused, deleted or in error. operator: an operator canceled it in Temporal. */
    reason: 'requested' | 'connection_not_active' | 'operator';
  };
  /** A run that has ended quarantined records; sent before the event of its end. */
  'records.quarantined': {
    runId: string;
    resourceKey: string;
    count: number;
    /** More records were quarantined than are listed here. */
    truncated: boolean;
    records: {
      quarantineId: string;
      externalId: string;
      issues: {
        /** Dotted, with array indexes; empty for the record itself. */
        path: string;
        /** The JSON Schema keyword, or the stage that rejected the record. */
        code: string;
      }[];
    }[];
  };
  /** Quarantined records were marked for retry. */
  'records.requeued': {
    /** Null: the retry was for all records of a connection or resource. */
    quarantineId: string | null;
    connectionId: string;
    /** Null: of all resources. */
    resourceKey: string | null;
    /** Null: as for `quarantineId`. */
    externalId: string | null;
    count: number;
  };
  /** A connection was created; it is pending. */
  'connection.created': {
    connection: EventConnection;
    /** Null: it is new. */
    previousStatus: ConnectionStatus | null;
    /** api: a call of the API. oauth: its customer authorized it. test: it was in error, and a test by the service succeeded. connect: its customer finished a connect session. */
    reason: 'api' | 'oauth' | 'test' | 'connect';
  };
  /** A connection has become active. */
  'connection.activated': {
    connection: EventConnection;
    /** Null: it is new. */
    previousStatus: ConnectionStatus | null;
    /** api: a call of the API. oauth: its customer authorized it. test: it was in error, and a test by the service succeeded. connect: its customer finished a connect session. */
    reason: 'api' | 'oauth' | 'test' | 'connect';
    /** The accounts that its customer connected, where the provider tells. */
    accounts: {
      /** The resource with a grant of its own; null: the connection. */
      resource: string | null;
      /** What the provider tells of it: the values that `auth.account` of the spec names. */
      values: {
        [name: string]: string;
      };
    }[];
  };
  /** A connection was paused: its schedules do not fire and its runs are canceled. */
  'connection.paused': {
    connection: EventConnection;
    /** Null: it is new. */
    previousStatus: ConnectionStatus | null;
    /** api: a call of the API. oauth: its customer authorized it. test: it was in error, and a test by the service succeeded. connect: its customer finished a connect session. */
    reason: 'api' | 'oauth' | 'test' | 'connect';
  };
  /** Credentials or destination were rejected: the connection is in error until a test of it succeeds or somebody activates it. */
  'connection.error': {
    connection: EventConnection;
    previousStatus: ConnectionStatus;
    error: {
      code: string;
      message: string;
    };
  };
  /** A connection that was in error is active again. */
  'connection.recovered': {
    connection: EventConnection;
    previousStatus: 'error';
    /** ISO 8601, UTC; null: not known. */
    failedSince: string | null;
  };
  /** The customer has to authorize the connection at their provider again. */
  'connection.reauth_required': {
    connection: EventConnection;
    /** The name of the system in its spec. */
    provider: string;
    error: {
      code: string;
      message: string;
    };
  };
  /** A connection was pinned to another version of its spec. */
  'connection.spec_upgraded': {
    connection: EventConnection;
    from: string;
    to: string;
  };
  /** The data of a resource are older than its schedules allow. */
  'connection.overdue': {
    connection: EventConnection;
    resourceKey: string;
    /** ISO 8601, UTC; null: no run has succeeded yet. */
    lastSuccessAt: string | null;
    /** The longest interval between two runs of its schedules; null: it no longer has a schedule. */
    expectedIntervalSeconds: number | null;
    /** Since the last success; null: there was none. */
    ageSeconds: number | null;
  };
  /** The data of a resource that was overdue are fresh again. */
  'connection.on_time': {
    connection: EventConnection;
    resourceKey: string;
    /** ISO 8601, UTC; null: no run has succeeded yet. */
    lastSuccessAt: string | null;
    /** The longest interval between two runs of its schedules; null: it no longer has a schedule. */
    expectedIntervalSeconds: number | null;
    /** Since the last success; null: there was none. */
    ageSeconds: number | null;
  };
  /** A schedule was created. */
  'schedule.created': {
    schedule: ScheduleRow;
  };
  /** A schedule was enabled or disabled. */
  'schedule.updated': {
    schedule: ScheduleRow;
    previous: ScheduleRow;
  };
  /** A schedule was deleted. */
  'schedule.deleted': {
    schedule: ScheduleRow;
  };
  /** A schedule fired and created no run. */
  'schedule.skipped': {
    schedule: ScheduleRow;
    /** When it was due to fire: ISO 8601, UTC. Null with catch_up_window: Temporal reports only how many. */
    scheduledFor: string | null;
    /** overlap: a run of the resource is already queued and will read the same. spec_invalid: the effective spec of the connection does not allow the run. catch_up_window: Temporal was unavailable for too long, and the firings were dropped. */
    reason: 'overlap' | 'connection_not_active' | 'spec_invalid' | 'catch_up_window';
    /** How many were skipped: 1, or with catch_up_window all since the last event. */
    firings: number;
  };
  /** A version of a spec was published. */
  'spec.published': {
    specId: string;
    key: string;
    version: string;
    checksum: string;
    publishedAt: string | null;
  };
  /** A version of a spec was deprecated: new connections are rejected; those pinned to it continue. */
  'spec.deprecated': {
    specId: string;
    key: string;
    version: string;
    checksum: string;
    publishedAt: string | null;
  };
  /** Deliveries to another endpoint of the org fail again and again. */
  'endpoint.failing': {
    endpointId: string;
    url: string;
    /** The first of the failures in a row: ISO 8601, UTC. */
    since: string;
    /** Null: no response arrived. */
    lastStatusCode: number | null;
    /** Pending events of the endpoint. */
    pending: number;
  };
  /** Another endpoint of the org was disabled. */
  'endpoint.disabled': {
    endpointId: string;
    url: string;
    /** gone: the endpoint responded with 410 or with `webhook-delivery: disable`. failing: every attempt failed for too long. */
    reason: 'gone' | 'failing';
    /** ISO 8601, UTC; null: it did not fail before. */
    failingSince: string | null;
    /** Events that are not sent to it unless they are recovered. */
    skipped: number;
  };
  /** An API key was created. */
  'api_key.created': {
    apiKeyId: string;
    /** The key that created it; null: the operator did. */
    createdBy: string | null;
  };
  /** An API key was revoked. */
  'api_key.revoked': {
    apiKeyId: string;
    /** The key that created it; null: the operator did. */
    createdBy: string | null;
  };
  /** An endpoint is tested; only this endpoint gets the event. */
  'webhook.test': {
    endpointId: string;
    message: string;
  };
}

/** The operations that honour `Idempotency-Key`. */
export const keyedOperations: ReadonlySet<string> = new Set([
  'POST /specs',
  'POST /connections',
  'POST /connections/{id}/sync',
  'POST /connections/{id}/backfill',
  'POST /connections/{id}/schedules',
  'POST /connections/{id}/hooks',
  'POST /hooks/{id}/rotate',
  'POST /runs/{id}/replay',
  'POST /api-keys',
  'POST /webhook-deliveries/{id}/redeliver',
  'POST /oauth-apps',
  'POST /workspaces',
  'POST /webhook-endpoints',
  'POST /webhook-endpoints/{id}/rotate-secret',
  'POST /webhook-endpoints/{id}/test',
  'POST /webhook-endpoints/{id}/recover',
  'POST /connect-sessions',
]);

import type { ColumnType, JSONColumnType } from 'kysely';
import type { JsonObject } from '../src/core/json/json-object.ts';
import type { DeletionState } from '../src/core/model/receipt.ts';
import type { RunNotes } from '../src/core/model/run-notes.ts';
import type { RunPosition } from '../src/core/model/run-position.ts';
import type { Validators } from '../src/core/model/validators.ts';
import type {
  ConnectProblem,
  ConnectSchedule,
  ConnectSessionState,
  ConnectStep,
} from '../src/core/resources/connect-session.ts';
import type { ConnectedAccount, ConnectionError, ConnectionStatus } from '../src/core/resources/connection.ts';
import type { EventType } from '../src/core/resources/event-types.ts';
import type { HookRequestStatus } from '../src/core/resources/hook.ts';
import type { RunStatus, RunTrigger } from '../src/core/resources/run.ts';
import type { SpecVersionStatus } from '../src/core/resources/spec.ts';
import type { Dedupe, Verification } from '../src/core/resources/verification-schema.ts';
import type { WebhookDeliveryState, WebhookTrigger } from '../src/core/resources/webhook-delivery.ts';
import type {
  RecoverySubject,
  SignatureScheme,
  WebhookDisabledReason,
  WebhookOrdering,
} from '../src/core/resources/webhook-endpoint.ts';
import type { WorkspaceKind } from '../src/core/resources/workspace.ts';
import type { StoredMeaning } from '../src/core/spec/connection/meaning.ts';
import type { DB, Generated } from './schema.gen.ts';

type Typed<Table, Known> = Omit<Table, keyof Known> & Known;
/** Written as JSON text and read as any JSON value. */
type AnyJson = ColumnType<unknown, string, string>;
type NullableJson<Value extends object> = JSONColumnType<Value | null, string | null | undefined, string | null>;
type NullableJsonObject = NullableJson<JsonObject>;

export interface Backfill {
  /** Start, as the cursor of the resource is written; `null` for `initial`. */
  readonly from: string | null;
  /** Unchanged records are delivered again, and deletes that were held back are sent; in a rewind only the latter. */
  readonly force: boolean;
  /** The lane is set back to `from` as the run begins, which then reads like an ordinary one. */
  readonly rewind?: true;
}

/** The generated types with what the migrations cannot say: shapes of jsonb and words of checks. */
export interface Database
  extends Omit<
    DB,
    | 'workspaces'
    | 'specVersions'
    | 'connections'
    | 'connectSessions'
    | 'runs'
    | 'quarantine'
    | 'callLog'
    | 'recordState'
    | 'partitions'
    | 'listedDeletions'
    | 'runDimensions'
    | 'hooks'
    | 'lanes'
    | 'hookRequests'
    | 'webhookEndpoints'
    | 'webhookEndpointSecrets'
    | 'webhookRecoveries'
    | 'webhookMessages'
    | 'webhookDeliveries'
    | 'oauthApps'
  > {
  workspaces: Typed<DB['workspaces'], { kind: WorkspaceKind }>;
  oauthApps: Typed<DB['oauthApps'], { workspaceKind: WorkspaceKind | null }>;
  specVersions: Typed<DB['specVersions'], { specJson: JSONColumnType<JsonObject>; status: SpecVersionStatus }>;
  connections: Typed<
    DB['connections'],
    {
      status: ConnectionStatus;
      paramsJson: JSONColumnType<JsonObject>;
      specOverridesJson: NullableJsonObject;
      accounts: JSONColumnType<ConnectedAccount[], string | undefined>;
      error: NullableJson<ConnectionError>;
    }
  >;
  connectSessions: Typed<
    DB['connectSessions'],
    {
      state: Generated<ConnectSessionState>;
      step: ConnectStep;
      specOverridesJson: NullableJsonObject;
      schedulesJson: JSONColumnType<ConnectSchedule[], string, never>;
      problemJson: NullableJson<ConnectProblem>;
    }
  >;
  runs: Typed<
    DB['runs'],
    {
      status: Generated<RunStatus>;
      trigger: RunTrigger;
      position: NullableJson<RunPosition>;
      notes: Generated<JSONColumnType<RunNotes>>;
      backfill: NullableJson<Backfill>;
      specOverridesJson: NullableJsonObject;
      paramsJson: NullableJsonObject;
    }
  >;
  quarantine: Typed<
    DB['quarantine'],
    { rawJson: AnyJson; validationErrors: AnyJson; eachJson: JSONColumnType<JsonObject, string | undefined> }
  >;
  callLog: Typed<
    DB['callLog'],
    { reqHeadersRedacted: JSONColumnType<JsonObject>; respHeaders: JSONColumnType<JsonObject> }
  >;
  recordState: Typed<DB['recordState'], { fields: NullableJsonObject }>;
  lanes: Typed<DB['lanes'], { meaning: NullableJson<StoredMeaning> }>;
  listedDeletions: Typed<DB['listedDeletions'], { state: DeletionState }>;
  partitions: Typed<DB['partitions'], { validators: NullableJson<Validators> }>;
  runDimensions: Typed<DB['runDimensions'], { value: AnyJson }>;
  webhookEndpoints: Typed<
    DB['webhookEndpoints'],
    {
      eventTypes: EventType[] | null;
      disabledReason: WebhookDisabledReason | null;
      ordering: WebhookOrdering;
      signatureSchemes: SignatureScheme[];
    }
  >;
  webhookEndpointSecrets: Typed<DB['webhookEndpointSecrets'], { scheme: SignatureScheme }>;
  webhookRecoveries: Typed<DB['webhookRecoveries'], { include: RecoverySubject[] }>;
  webhookMessages: Typed<
    DB['webhookMessages'],
    { status: 'pending' | 'succeeded' | 'exhausted' | 'canceled' | 'skipped' }
  >;
  webhookDeliveries: Typed<
    DB['webhookDeliveries'],
    {
      trigger: WebhookTrigger;
      state: WebhookDeliveryState;
      requestHeaders: NullableJsonObject;
      responseHeaders: NullableJsonObject;
    }
  >;
  hooks: Typed<DB['hooks'], { verification: JSONColumnType<Verification>; dedupe: NullableJson<Dedupe> }>;
  hookRequests: Typed<DB['hookRequests'], { status: HookRequestStatus }>;
}

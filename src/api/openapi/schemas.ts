import { type ConversionConfig, toJsonSchema, toJsonSchemaDefs } from '@valibot/to-json-schema';
import type * as v from 'valibot';
import { EventEnvelope } from '../../core/events/catalogue.ts';
import { EventConnection } from '../../core/events/event-connection.ts';
import { JsonObject } from '../../core/json/json-object.ts';
import { ApiKeyRow } from '../../core/resources/api-key.ts';
import { AuthorizationSettings } from '../../core/resources/authorization-settings.ts';
import { ConnectionRow, ConnectionStatus } from '../../core/resources/connection.ts';
import { ErrorBody } from '../../core/resources/error.ts';
import { FreshnessView } from '../../core/resources/freshness.ts';
import { HookRequestRow, HookRow } from '../../core/resources/hook.ts';
import { QuarantineRow } from '../../core/resources/quarantine.ts';
import { CallLogRow, RunRow, RunStats, RunStatus } from '../../core/resources/run.ts';
import { ScheduleRow } from '../../core/resources/schedule.ts';
import { Issue, SpecRow, SpecUpgrade, SpecVersionRow, ValidationResult } from '../../core/resources/spec.ts';
import { Deleted, Timestamp } from '../../core/resources/values.ts';
import { Dedupe, Verification } from '../../core/resources/verification-schema.ts';
import { WebhookDeliveryDetail, WebhookDeliveryView } from '../../core/resources/webhook-delivery.ts';
import {
  EventType,
  EventTypeRow,
  WebhookEndpointRow,
  WebhookEndpointStats,
  WebhookRecovery,
} from '../../core/resources/webhook-endpoint.ts';
import { WorkspaceRow } from '../../core/resources/workspace.ts';

type Json = Readonly<Record<string, unknown>>;

export const refTo = (kind: 'schemas' | 'responses' | 'parameters' | 'headers', name: string): Json => ({
  $ref: `#/components/${kind}/${name}`,
});

const definitions = {
  ConnectionRow,
  ConnectionStatus,
  SpecUpgrade,
  SpecVersionRow,
  SpecRow,
  Issue,
  ValidationResult,
  RunStats,
  RunStatus,
  RunRow,
  CallLogRow,
  QuarantineRow,
  ScheduleRow,
  HookRow,
  HookRequestRow,
  Verification,
  Dedupe,
  WebhookDeliveryView,
  WebhookDeliveryDetail,
  WebhookEndpointRow,
  WebhookEndpointStats,
  WebhookRecovery,
  FreshnessView,
  WorkspaceRow,
  ApiKeyRow,
  AuthorizationSettings,
  EventType,
  EventTypeRow,
  EventEnvelope,
  EventConnection,
  ErrorBody,
  Deleted,
  JsonObject,
  Timestamp,
};

/** `input`: a request, in which fields with a default may be absent; `output`: a response. */
type TypeMode = 'input' | 'output';

export const conversion = (typeMode: TypeMode): ConversionConfig => ({
  typeMode,
  target: 'draft-2020-12',
  // Checks in code (id forms, byte lengths) have no JSON Schema; descriptions and examples cover them.
  errorMode: 'ignore',
  overrideRef: ({ referenceId }) => `#/components/schemas/${referenceId}`,
});

export const namedSchemas = (): Json => toJsonSchemaDefs(definitions, conversion('output'));

export function schemaOf(schema: v.GenericSchema, typeMode: TypeMode): Json {
  const {
    $schema: _dialect,
    $defs: _definitions,
    ...json
  } = toJsonSchema(schema, { ...conversion(typeMode), definitions });
  return json;
}

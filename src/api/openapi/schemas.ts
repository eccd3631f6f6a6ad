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

/** Refers to a part of the document that stands in its `components`. */
export const refTo = (kind: 'schemas' | 'responses' | 'parameters' | 'headers', name: string): Json => ({
  $ref: `#/components/${kind}/${name}`,
});

/** Schemas with a name of their own in the document. */
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

/**
 * The form of a schema that is meant: that of a request, in which what has a default may be absent, or of a response.
 */
type TypeMode = 'input' | 'output';

/** How schemas are converted. */
export const conversion = (typeMode: TypeMode): ConversionConfig => ({
  typeMode,
  target: 'draft-2020-12',
  // Checks in code (id forms, byte lengths) have no JSON Schema; descriptions and examples cover them.
  errorMode: 'ignore',
  overrideRef: ({ referenceId }) => `#/components/schemas/${referenceId}`,
});

/** The JSON Schemas with a name of their own. */
export const namedSchemas = (): Json => toJsonSchemaDefs(definitions, conversion('output'));

/** The JSON Schema, with references to {@link namedSchemas}. */
export function schemaOf(schema: v.GenericSchema, typeMode: TypeMode): Json {
  const {
    $schema: _dialect,
    $defs: _definitions,
    ...json
  } = toJsonSchema(schema, { ...conversion(typeMode), definitions });
  return json;
}

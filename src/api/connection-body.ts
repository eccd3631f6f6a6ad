import * as v from 'valibot';
import { JsonObject } from '../core/json/json-object.ts';
import { ErrorAfterMinutes } from '../core/resources/connection.ts';
import { bodyId, DisplayText, NaturalKey } from './inputs.ts';

export const NewConnection = v.object({
  workspaceId: bodyId('ws'),
  specKey: NaturalKey,
  specVersion: v.pipe(NaturalKey, v.description('A published version.')),
  displayName: DisplayText,
  externalCustomerId: v.nullish(v.pipe(NaturalKey, v.description('Your id of the end customer.')), null),
  errorAfterMinutes: v.optional(ErrorAfterMinutes, 0),
  params: v.pipe(JsonObject, v.description("Values of the spec's params that are not secret.")),
  secrets: v.pipe(JsonObject, v.description("Values of the spec's secret params.")),
});

export const ConnectionChange = v.object({
  displayName: v.optional(DisplayText),
  externalCustomerId: v.optional(v.nullable(NaturalKey)),
  errorAfterMinutes: v.optional(ErrorAfterMinutes),
  params: v.optional(v.pipe(JsonObject, v.description('Replaces all params.'))),
  secrets: v.optional(v.pipe(JsonObject, v.description('Merged by key into those stored; null deletes one.'))),
  specOverridesJson: v.optional(
    v.nullable(v.pipe(JsonObject, v.description('Keyed merge patch on the pinned spec; null: none.'))),
  ),
  dryRun: v.optional(v.pipe(v.boolean(), v.description('Whether only to return the plan.')), false),
  allowDeletes: v.optional(
    v.pipe(v.boolean(), v.description('Whether later runs may delete rows that they no longer find.')),
    false,
  ),
});

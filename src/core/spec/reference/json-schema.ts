/**
 * JSON Schema of a ConnectorSpec and the reference of its fields, from the validator's own schemas; no run depends on
 * them.
 */

import { type ConversionConfig, toJsonSchema, toJsonSchemaDefs } from '@valibot/to-json-schema';
import type * as v from 'valibot';
import { Auth } from '../schema/auth-schema.ts';
import { DestinationSpec, Target } from '../schema/destination-schema.ts';
import { when } from '../schema/field.ts';
import { ErrorRule, HttpSettings, RequestTemplate, ResponseCondition } from '../schema/http-schema.ts';
import { Incremental } from '../schema/incremental-schema.ts';
import { Enrichment, Lookup } from '../schema/lookup-schema.ts';
import { FieldPath } from '../schema/names.ts';
import { Inject, Pagination, Shrink } from '../schema/pagination-schema.ts';
import { ConnectionParam } from '../schema/param-schema.ts';
import { Resource, ResponseSettings } from '../schema/resource-schema.ts';
import { ConnectorSpec } from '../schema/spec-schema.ts';
import { RequestPattern, SpecTest } from '../schema/test-schema.ts';

export type Schema = Readonly<Record<string, unknown>>;

const parts = {
  ConnectionParam,
  Auth,
  HttpSettings,
  RequestTemplate,
  ErrorRule,
  ResponseCondition,
  Lookup,
  Resource,
  ResponseSettings,
  Incremental,
  Enrichment,
  Pagination,
  Inject,
  Shrink,
  Target,
  DestinationSpec,
  SpecTest,
  RequestPattern,
  FieldPath,
};

/** JSON Schema (draft 2020-12) of a spec document, with descriptions, defaults and examples; unknown keys are errors. */
export function connectorSpecSchema(): Schema {
  const { $defs, $schema, ...root } = toJsonSchema(ConnectorSpec, {
    ...conversion('#/$defs/', parts),
    definitions: parts,
  });
  const named = Object.entries($defs ?? {}).filter(([name]) => Object.hasOwn(parts, name));
  return {
    $schema,
    title: 'ConnectorSpec',
    description: 'A connector: how to read the records of an API, and where they go. Format version 1.',
    ...root,
    $defs: Object.fromEntries(named),
  };
}

const partsOfApi = {
  ...{ ConnectorSpec, Auth, HttpSettings, RequestTemplate, ErrorRule, Lookup, Resource, Pagination },
  ...{ DestinationSpec, FieldPath },
};

/**
 * The schema as named parts, without texts, editor defaults and conditions, as an OpenAPI document needs it.
 * `refPrefix` is the place of the parts in that document.
 */
export function connectorSpecParts(refPrefix: string): Readonly<Record<string, object>> {
  const schemas = toJsonSchemaDefs(partsOfApi, { ...conversion(refPrefix, partsOfApi), ignoreActions: ['metadata'] });
  return Object.fromEntries(Object.entries(schemas).filter(([name]) => Object.hasOwn(partsOfApi, name)));
}

type Named = Readonly<Record<string, v.GenericSchema>>;

function conversion(refPrefix: string, named: Named): ConversionConfig {
  const names = new Map<unknown, string>(Object.entries(named).map(([name, schema]) => [schema, name]));
  return {
    typeMode: 'input',
    target: 'draft-2020-12',
    // Checks in code have no JSON Schema; where editors need one, the schemas state it in `metadata`.
    errorMode: 'ignore',
    overrideRef: ({ referenceId }) => `${refPrefix}${referenceId}`,
    overrideSchema: ({ valibotSchema, jsonSchema: converted }) => {
      const jsonSchema: Schema = { ...converted };
      if (valibotSchema.type === 'lazy') return oneOrMore(`${refPrefix}FieldPath`);
      if (valibotSchema.type === 'variant' && refPrefix === '#/$defs/') return byKind(jsonSchema);
      if (!isStrictObject(valibotSchema)) return null;
      return strict(jsonSchema, {
        ...referring(valibotSchema.entries, jsonSchema, (schema) => nameOf(schema, names, refPrefix)),
        ...(valibotSchema === ConnectorSpec ? { orgId } : {}),
      });
    },
  };
}

const orgId = { description: 'Ignored: the API key determines the org.' };

const isStrictObject = (schema: object): schema is { readonly entries: v.ObjectEntries } =>
  'type' in schema && schema.type === 'strict_object';

const strict = ({ properties, ...rest }: Schema, changed: Schema): Schema => ({
  ...rest,
  properties: { ...(properties as Schema), ...changed },
  patternProperties: { '^x-': {} },
});

/** Fields whose schema is a named part with its own description; the converter would repeat the part. */
function referring(entries: v.ObjectEntries, { properties }: Schema, refOf: (schema: object) => string | null): Schema {
  const changed = Object.entries(entries).flatMap(([key, entry]) => {
    const $ref = refOf(entry);
    const { description, examples } = Object(Reflect.get(Object(properties), key));
    return $ref === null ? [] : [[key, { $ref, ...(description && { description }), ...(examples && { examples }) }]];
  });
  return Object.fromEntries(changed);
}

/** The reference of the part that a schema is, even inside a pipe; `null` if it is not a named part. */
function nameOf(schema: object, names: ReadonlyMap<unknown, string>, refPrefix: string): string | null {
  for (let inner: unknown = schema; typeof inner === 'object' && inner !== null; ) {
    const name = names.get(inner);
    if (name !== undefined) return `${refPrefix}${name}`;
    inner = 'pipe' in inner && Array.isArray(inner.pipe) ? inner.pipe[0] : null;
  }
  return null;
}

const oneOrMore = ($ref: string): Schema => ({
  anyOf: [{ $ref }, { type: 'array', items: { $ref }, minItems: 1, maxItems: 8 }],
});

/**
 * Kinds of a part as conditions on its discriminator. An editor then completes the fields of the written kind and names
 * the wrong field.
 */
function byKind({ oneOf, ...rest }: Schema): Schema {
  const kinds = (oneOf as readonly Schema[]).map((option) => ({ option, ...kindOf(option) }));
  const key = kinds[0]?.key ?? 'kind';
  return {
    ...rest,
    type: 'object',
    required: [key],
    properties: {
      [key]: {
        enum: kinds.map(({ kind }) => kind),
        description: kinds.map(({ kind, about }) => `\`${String(kind)}\`: ${about}`).join('\n'),
      },
    },
    allOf: kinds.map(({ option, kind }) => when({ properties: { [key]: { const: kind } }, required: [key] }, option)),
  };
}

function kindOf({ properties }: Schema): { readonly key: string; readonly kind: unknown; readonly about: string } {
  const [key = '', schema] = Object.entries(Object(properties)).find(([, value]) => 'const' in Object(value)) ?? [];
  const { const: kind, description = '' } = Object(schema);
  return { key, kind, about: description };
}

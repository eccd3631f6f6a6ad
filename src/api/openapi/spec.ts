import { type ConversionConfig, toJsonSchemaDefs } from '@valibot/to-json-schema';
import { Auth } from '../../core/spec/schema/auth-schema.ts';
import { DestinationSpec } from '../../core/spec/schema/destination-schema.ts';
import { ErrorRule, HttpSettings, RequestTemplate } from '../../core/spec/schema/http-schema.ts';
import { Lookup } from '../../core/spec/schema/lookup-schema.ts';
import { Pagination } from '../../core/spec/schema/pagination-schema.ts';
import { Resource } from '../../core/spec/schema/resource-schema.ts';
import { ConnectorSpec } from '../../core/spec/schema/spec-schema.ts';

type Json = Readonly<Record<string, unknown>>;

const parts = {
  ConnectorSpec,
  Auth,
  HttpSettings,
  RequestTemplate,
  ErrorRule,
  Lookup,
  Resource,
  Pagination,
  DestinationSpec,
};

/**
 * JSON Schemas of a ConnectorSpec and its parts, by their names in the document. They hold what an editor can check;
 * the service itself checks rules across several places.
 */
export function connectorSpecSchemas(): Json {
  const schemas = Object.entries(toJsonSchemaDefs(parts, conversion));
  return { ...Object.fromEntries(schemas.filter(([name]) => Object.hasOwn(parts, name))), PrimaryKey: oneOrMoreFields };
}

const conversion: ConversionConfig = {
  typeMode: 'input',
  target: 'draft-2020-12',
  errorMode: 'ignore',
  // The only part without a name is one that the schema decides by the value, which the converter cannot see.
  overrideRef: ({ referenceId }) =>
    `#/components/schemas/${Object.hasOwn(parts, referenceId) ? referenceId : 'PrimaryKey'}`,
  overrideSchema: ({ valibotSchema, jsonSchema }) => {
    if (valibotSchema.type !== 'strict_object') return null;
    const orgId = { description: 'Ignored: the API key determines the org.' };
    const ignored = valibotSchema === ConnectorSpec ? { properties: { ...jsonSchema.properties, orgId } } : {};
    return { ...jsonSchema, ...ignored, patternProperties: { '^x-': {} } };
  },
};

const oneOrMoreFields: Json = {
  anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: 8 }],
};

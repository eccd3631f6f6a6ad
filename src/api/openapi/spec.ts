import { connectorSpecParts } from '../../core/spec/reference/json-schema.ts';

/**
 * Describes the form only: texts, defaults and examples are in `connector-spec.schema.json`, and the service checks
 * rules across places.
 */
export const connectorSpecSchemas = (): Readonly<Record<string, unknown>> => {
  const { ConnectorSpec, ...parts } = connectorSpecParts('#/components/schemas/');
  return { ConnectorSpec: { description, ...ConnectorSpec }, ...parts };
};

const description = '`GET /api/connector-spec.schema.json` describes each field, for people and editors.';

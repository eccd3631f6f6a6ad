import { renderOpenApi as renderDocument } from '../src/api/openapi/openapi.ts';
import { connectorSpecSchema } from '../src/core/spec/reference/json-schema.ts';

/** The text of openapi.json: the document that the API serves. It is deep: a second space would be a third of its size. */
export const renderOpenApi = (): string => `${JSON.stringify(renderDocument(), null, 1)}\n`;

/** The text of connector-spec.schema.json, which editors read and the API serves. */
export const renderSpecSchema = (): string => `${JSON.stringify(connectorSpecSchema(), null, 1)}\n`;

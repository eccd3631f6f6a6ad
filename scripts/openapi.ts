import { renderOpenApi as renderDocument } from '../src/api/openapi/openapi.ts';
import { connectorSpecSchema } from '../src/core/spec/reference/json-schema.ts';

/** The text of openapi.json: the document that the API serves. */
export const renderOpenApi = (): string => `${printJson(renderDocument())}\n`;

/** The text of connector-spec.schema.json, which editors read and the API serves. */
export const renderSpecSchema = (): string => `${JSON.stringify(connectorSpecSchema(), null, 1)}\n`;

/** As in the code of this project. */
const columnsMax = 120;

/**
 * JSON with each value on one line if it fits there. The document is deep: with a line for each property, two fifths of
 * it are white space.
 */
function printJson(value: unknown, indent = ''): string {
  const line = JSON.stringify(value);
  if (typeof value !== 'object' || value === null || indent.length + line.length <= columnsMax) return line;
  const inner = `${indent} `;
  const [open, close, parts] = Array.isArray(value)
    ? ['[', ']', value.map((item) => printJson(item, inner))]
    : ['{', '}', Object.entries(value).map(([name, item]) => `${JSON.stringify(name)}: ${printJson(item, inner)}`)];
  return `${open}\n${parts.map((part) => inner + part).join(',\n')}\n${indent}${close}`;
}

import { renderOpenApi as renderDocument } from '../src/api/openapi/openapi.ts';
import { connectorSpecSchema } from '../src/core/spec/reference/json-schema.ts';

/** The document that the API serves. */
export const renderOpenApi = (): string => `${printJson(renderDocument())}\n`;

/** For editors; the API serves it too. */
export const renderSpecSchema = (): string => `${JSON.stringify(connectorSpecSchema(), null, 1)}\n`;

/** As in the code of this project. */
const columnsMax = 120;

/**
 * Puts each value on one line if it fits: with a line per property, two fifths of this deep document would be white
 * space.
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

import { renderOpenApi as renderDocument } from '../src/api/openapi/openapi.ts';

/** The text of openapi.json: the document that the API serves. It is deep: a second space would be a third of its size. */
export const renderOpenApi = (): string => `${JSON.stringify(renderDocument(), null, 1)}\n`;

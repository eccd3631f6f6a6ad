import { renderOpenApi as renderDocument } from '../src/api/openapi/openapi.ts';

/** The text of openapi.json: the document that the API serves. */
export const renderOpenApi = (): string => `${JSON.stringify(renderDocument(), null, 2)}\n`;

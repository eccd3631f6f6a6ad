/** `npm run generate`; the check fails when a file is stale. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { renderReference } from '../src/core/spec/reference/page.ts';
import { renderCatalogue } from './catalogue-page.ts';
import { renderClientTypes } from './client-types.ts';
import { renderEnvExample } from './env-example.ts';
import { renderOpenApi, renderSpecSchema } from './openapi.ts';
import { renderSchemaTypes } from './schema-types.ts';

const generated: Readonly<Record<string, () => Promise<string> | string>> = {
  'openapi.json': renderOpenApi,
  'connector-spec.schema.json': renderSpecSchema,
  'docs/connectors/reference.md': renderReference,
  'docs/connectors/catalogue.md': renderCatalogue,
  '.env.example': renderEnvExample,
  'db/schema.gen.ts': renderSchemaTypes,
  'clients/typescript/src/api.gen.ts': renderClientTypes,
};

export async function checkGenerated(): Promise<readonly string[]> {
  const stale: string[] = [];
  for (const [file, render] of Object.entries(generated)) {
    if (!existsSync(file) || readFileSync(file, 'utf8') !== (await render())) stale.push(file);
  }
  return stale;
}

if (import.meta.main) {
  for (const [file, render] of Object.entries(generated)) writeFileSync(file, await render());
}

import * as v from 'valibot';
import { JsonObject } from '../json/json-object.ts';

/** The best verification that holds for a connector. */
export const VerificationKind = v.pipe(
  v.picklist(['server', 'description', 'tests']),
  v.description("A real server; the vendor's own description of the API; only the tests in the spec."),
);

export const CatalogueRow = v.object({
  key: v.pipe(v.string(), v.examples(['github'])),
  name: v.pipe(v.string(), v.examples(['GitHub'])),
  version: v.pipe(v.string(), v.examples(['1.0.0'])),
  resources: v.array(v.string()),
  verifiedAgainst: v.object({ kind: VerificationKind, statement: v.string() }),
});
export type CatalogueRow = v.InferOutput<typeof CatalogueRow>;

export const CatalogueConnector = v.object({
  ...CatalogueRow.entries,
  spec: v.pipe(JsonObject, v.description('A body for `POST /specs`. It has no `destination`.')),
  readme: v.pipe(v.string(), v.description('Markdown.')),
});
export type CatalogueConnector = v.InferOutput<typeof CatalogueConnector>;

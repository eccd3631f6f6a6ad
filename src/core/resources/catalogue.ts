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
  description: v.pipe(v.string(), v.examples(['Repositories, issues and commits of a list of repositories'])),
  tags: v.pipe(v.array(v.string()), v.examples([['development']])),
  authKind: v.pipe(
    v.string(),
    v.description('How its requests prove who they are: `auth.kind`.'),
    v.examples(['bearer']),
  ),
  resources: v.array(v.string()),
  verifiedAgainst: v.object({
    kind: VerificationKind,
    statement: v.string(),
    on: v.pipe(
      v.nullable(v.string()),
      v.description('The day; null: only its tests were run, as they are with each change.'),
      v.examples(['2026-03-01']),
    ),
  }),
});
export type CatalogueRow = v.InferOutput<typeof CatalogueRow>;

export const CatalogueConnector = v.object({
  ...CatalogueRow.entries,
  spec: v.pipe(JsonObject, v.description('A body for `POST /specs`. It has no `destination`.')),
  readme: v.pipe(v.string(), v.description('Markdown.')),
});
export type CatalogueConnector = v.InferOutput<typeof CatalogueConnector>;

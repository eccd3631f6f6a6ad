import * as v from 'valibot';
import { Count, Timestamp } from './values.ts';
import { WorkspaceKind } from './workspace.ts';

/** An OAuth client of the org for the connections of all its customers; its secret is never shown. */
export const OauthAppRow = v.object({
  id: v.pipe(v.string(), v.examples(['oap_01kaemm0dce7xb1k4c1m1f2p3q'])),
  key: v.pipe(v.string(), v.description('What `auth.app` of a spec names.'), v.examples(['acme'])),
  workspaceKind: v.pipe(
    v.nullable(WorkspaceKind),
    v.description('Null: for connections of each workspace whose kind has no app of that key.'),
  ),
  clientId: v.pipe(v.string(), v.examples(['0oa8f2acme'])),
  hasSecret: v.pipe(v.boolean(), v.description('False: a public client.')),
  createdAt: Timestamp,
  updatedAt: Timestamp,
});
export type OauthAppRow = v.InferOutput<typeof OauthAppRow>;

export const OauthAppWritten = v.object({
  ...OauthAppRow.entries,
  connectionsToAuthorize: v.pipe(
    Count,
    v.description('Connections with a grant of another client id: their customers have to authorize again.'),
  ),
});
export type OauthAppWritten = v.InferOutput<typeof OauthAppWritten>;

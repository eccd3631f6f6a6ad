import { sql } from 'kysely';
import type { SealedSecret } from '../../../src/core/crypto/secret-box.ts';
import type { JsonObject } from '../../../src/core/json/json-object.ts';
import type { Db } from '../../client.ts';
import type { OrgScope } from '../../scope.ts';

/** The setup with which a run began; a change of its connection applies to the next run only. */
export interface BegunWith {
  readonly specJson: JsonObject;
  readonly specOverridesJson: JsonObject | null;
  readonly paramsJson: JsonObject;
  /** The secrets of the requested kind, as they are now; null: the connection has none. */
  readonly sealed: SealedSecret | null;
}

/**
 * The spec, overrides, parameters and secrets of a run that has begun; undefined: it has not, or a part of it is not
 * found.
 */
export async function findBegunWith(
  db: Db,
  scope: OrgScope,
  { runId, secretKind }: { readonly runId: string; readonly secretKind: string },
): Promise<BegunWith | undefined> {
  const found = await db
    .selectFrom('runs')
    .innerJoin('connections', 'connections.id', 'runs.connectionId')
    .innerJoin('specVersions', (join) =>
      join
        .onRef('specVersions.specId', '=', 'connections.specId')
        .onRef('specVersions.version', '=', 'runs.specVersion'),
    )
    .leftJoin('connectionSecrets', (join) =>
      join
        .onRef('connectionSecrets.connectionId', '=', 'connections.id')
        .on('connectionSecrets.orgId', '=', scope.orgId)
        .on('connectionSecrets.kind', '=', secretKind),
    )
    .select([
      ...(['specVersions.specJson', 'runs.specOverridesJson'] as const),
      ...(['kekId', 'wrappedKey', 'nonce', 'ciphertext'] as const),
      sql<JsonObject>`runs.params_json`.as('paramsJson'),
    ])
    .where('runs.orgId', '=', scope.orgId)
    .where('runs.id', '=', runId)
    .executeTakeFirst();
  if (!found) return undefined;
  const { kekId, wrappedKey, nonce, ciphertext, ...begunWith } = found;
  const sealed = kekId && wrappedKey && nonce && ciphertext ? { kekId, wrappedKey, nonce, ciphertext } : null;
  return { ...begunWith, sealed };
}

import { sql } from 'kysely';
import type { JsonObject } from '../../../src/core/resources/values.ts';
import type { Db } from '../../client.ts';
import type { OrgScope } from '../../scope.ts';

/** The setup with which a run began; a change of its connection applies to the next run only. */
export interface BegunWith {
  readonly specJson: JsonObject;
  readonly specOverridesJson: JsonObject | null;
  readonly paramsJson: JsonObject;
}

/** The spec, overrides and parameters of a run that has begun; undefined: it has not, or a part of it is not found. */
export function findBegunWith(db: Db, scope: OrgScope, runId: string): Promise<BegunWith | undefined> {
  return db
    .selectFrom('runs')
    .innerJoin('connections', 'connections.id', 'runs.connectionId')
    .innerJoin('specVersions', (join) =>
      join
        .onRef('specVersions.specId', '=', 'connections.specId')
        .onRef('specVersions.version', '=', 'runs.specVersion'),
    )
    .select(['specVersions.specJson', 'runs.specOverridesJson', sql<JsonObject>`runs.params_json`.as('paramsJson')])
    .where('runs.orgId', '=', scope.orgId)
    .where('runs.id', '=', runId)
    .executeTakeFirst();
}

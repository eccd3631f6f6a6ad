import { sql } from 'kysely';
import type { ConnectionRow } from '../../../src/core/resources/connection.ts';
import type { Db } from '../../client.ts';
import { isNamed } from './connections.ts';

export interface FoundConnection
  extends Pick<ConnectionRow, 'id' | 'workspaceId' | 'displayName' | 'externalCustomerId' | 'status'> {
  readonly orgId: string;
  readonly orgName: string;
  readonly specKey: string;
}

/** Matches, in any case, part of the connection's or org's name, or the whole id of the end customer. */
export function findConnectionsByName(db: Db, name: string, limit: number): Promise<FoundConnection[]> {
  return db
    .selectFrom('connections')
    .innerJoin('orgs', 'orgs.id', 'connections.orgId')
    .innerJoin('specs', (join) =>
      join.onRef('specs.id', '=', 'connections.specId').onRef('specs.orgId', '=', 'connections.orgId'),
    )
    .select([
      'connections.id',
      'connections.orgId',
      'orgs.name as orgName',
      'connections.workspaceId',
      'connections.displayName',
      'connections.externalCustomerId',
      'connections.status',
      'specs.key as specKey',
    ])
    .where('connections.deletedAt', 'is', null)
    .where(sql<boolean>`(${isNamed(name)} or position(${name.toLowerCase()} in lower(orgs.name)) > 0)`)
    .orderBy('connections.id', 'desc')
    .limit(limit)
    .execute();
}

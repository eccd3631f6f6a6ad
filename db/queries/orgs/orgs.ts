import { newId } from '../../../src/core/ids.ts';
import type { Db } from '../../client.ts';

export interface Org {
  readonly id: string;
  readonly name: string;
  readonly plan: string;
  /** Plan cap on active connections; `null` for none. */
  readonly activeConnectionsMax: number | null;
  readonly createdAt: string;
}

const columns = ['id', 'name', 'plan', 'activeConnectionsMax', 'createdAt'] as const;

/** Orgs are made by the operator, never by a request. */
export function insertOrg(db: Db, org: Pick<Org, 'name' | 'plan' | 'activeConnectionsMax'>): Promise<Org> {
  return db
    .insertInto('orgs')
    .values({ ...org, id: newId('org') })
    .returning(columns)
    .executeTakeFirstOrThrow();
}

export function findOrg(db: Db, id: string): Promise<Org | undefined> {
  return db.selectFrom('orgs').select(columns).where('id', '=', id).executeTakeFirst();
}

export function listOrgs(db: Db): Promise<Org[]> {
  return db.selectFrom('orgs').select(columns).orderBy('id', 'desc').execute();
}

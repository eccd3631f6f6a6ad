import type { ConnectSettings } from '../../../src/core/resources/connect-settings.ts';
import type { Db } from '../../client.ts';
import type { OrgScope } from '../../scope.ts';

const columns = ['connectName as name', 'connectColor as color', 'connectLogo as logo'] as const;

export function readConnectSettings(db: Db, { orgId }: OrgScope): Promise<ConnectSettings> {
  return db.selectFrom('orgs').select(columns).where('id', '=', orgId).executeTakeFirstOrThrow();
}

/** With the name of the org where the settings have none. */
export async function readLook(db: Db, { orgId }: OrgScope): Promise<ConnectSettings & { readonly name: string }> {
  const { orgName, ...look } = await db
    .selectFrom('orgs')
    .select([...columns, 'name as orgName'])
    .where('id', '=', orgId)
    .executeTakeFirstOrThrow();
  return { ...look, name: look.name ?? orgName };
}

export type ConnectSettingsChange = {
  readonly [Name in keyof ConnectSettings]?: ConnectSettings[Name] | undefined;
};

export function changeConnectSettings(
  db: Db,
  { orgId }: OrgScope,
  { name, color, logo }: ConnectSettingsChange,
): Promise<ConnectSettings> {
  return db
    .updateTable('orgs')
    .set((eb) => ({
      connectName: name === undefined ? eb.ref('connectName') : name,
      connectColor: color === undefined ? eb.ref('connectColor') : color,
      connectLogo: logo === undefined ? eb.ref('connectLogo') : logo,
    }))
    .where('id', '=', orgId)
    .returning(columns)
    .executeTakeFirstOrThrow();
}

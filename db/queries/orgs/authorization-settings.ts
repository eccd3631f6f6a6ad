import type { AuthorizationSettings } from '../../../src/core/resources/authorization-settings.ts';
import type { Db } from '../../client.ts';
import type { OrgScope } from '../../scope.ts';

const columns = ['oauthReturnOrigins as returnOrigins', 'oauthConfirmationRequired as confirmationRequired'] as const;

export function readAuthorizationSettings(db: Db, { orgId }: OrgScope): Promise<AuthorizationSettings> {
  return db.selectFrom('orgs').select(columns).where('id', '=', orgId).executeTakeFirstOrThrow();
}

export type AuthorizationSettingsChange = {
  readonly [Name in keyof AuthorizationSettings]?: AuthorizationSettings[Name] | undefined;
};

export function changeAuthorizationSettings(
  db: Db,
  { orgId }: OrgScope,
  { returnOrigins, confirmationRequired }: AuthorizationSettingsChange,
): Promise<AuthorizationSettings> {
  return db
    .updateTable('orgs')
    .set((eb) => ({
      oauthReturnOrigins: returnOrigins ?? eb.ref('oauthReturnOrigins'),
      oauthConfirmationRequired: confirmationRequired ?? eb.ref('oauthConfirmationRequired'),
    }))
    .where('id', '=', orgId)
    .returning(columns)
    .executeTakeFirstOrThrow();
}

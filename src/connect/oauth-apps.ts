import type { Db } from '../../db/client.ts';
import { findAppOfConnection } from '../../db/queries/orgs/oauth-apps.ts';
import type { OrgScope } from '../../db/scope.ts';
import type { SecretContext } from '../core/crypto/secret-box.ts';
import type { FindApp } from '../core/source/auth/client-app.ts';
import { namedApps } from '../core/spec/connection/grants.ts';
import type { Deps } from '../deps.ts';
import type { ConnectionSetup } from './setup.ts';

/** Each app is the owner of its secret. */
export const appContext = (orgId: string, appId: string): SecretContext => ({
  orgId,
  ownerId: appId,
  kind: 'oauth-app',
});

/** The apps of a connection, read whenever they are asked for; throws when the key ring does not open a secret. */
export const appsOf =
  ({ secretBox }: Pick<Deps, 'secretBox'>, db: Db, scope: OrgScope, connectionId: string): FindApp =>
  async (key) => {
    const app = await findAppOfConnection(db, scope, { connectionId, key });
    if (!app) return null;
    const { clientId, sealed } = app;
    return { clientId, clientSecret: sealed && secretBox.open(sealed, appContext(scope.orgId, app.id)) };
  };

/** Adds the secrets of the apps that the spec names, which are masked like those of the connection. */
export async function withAppSecrets<Setup extends Pick<ConnectionSetup, 'spec' | 'secrets'>>(
  find: FindApp,
  setup: Setup,
): Promise<Setup & Pick<ConnectionSetup, 'appSecrets'>> {
  const found = await Promise.all(namedApps(setup.spec).map(find));
  return { ...setup, appSecrets: found.flatMap((app) => app?.clientSecret ?? []) };
}

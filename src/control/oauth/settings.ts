import {
  type AuthorizationSettingsChange,
  changeAuthorizationSettings,
} from '../../../db/queries/orgs/authorization-settings.ts';
import type { OrgScope } from '../../../db/scope.ts';
import type { AuthorizationSettings } from '../../core/resources/authorization-settings.ts';
import type { Deps } from '../../deps.ts';

/** Changes how customers of the org may authorize connections; what is absent stays. */
export const changeSettings = (
  { db }: Pick<Deps, 'db'>,
  scope: OrgScope,
  change: AuthorizationSettingsChange,
): Promise<AuthorizationSettings> => changeAuthorizationSettings(db, scope, change);

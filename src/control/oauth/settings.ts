import {
  type AuthorizationSettingsChange,
  changeAuthorizationSettings,
} from '../../../db/queries/orgs/authorization-settings.ts';
import type { OrgScope } from '../../../db/scope.ts';
import type { AuthorizationSettings } from '../../core/resources/authorization-settings.ts';
import type { Deps } from '../../deps.ts';

/** Absent settings stay unchanged. */
export const changeSettings = (
  { db }: Pick<Deps, 'db'>,
  scope: OrgScope,
  change: AuthorizationSettingsChange,
): Promise<AuthorizationSettings> => changeAuthorizationSettings(db, scope, change);

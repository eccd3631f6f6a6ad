import * as v from 'valibot';
import { AuthorizationSettings } from '../../core/resources/authorization-settings.ts';
import { OauthAppRow } from '../../core/resources/oauth-app.ts';
import { usageError } from '../command-error.ts';
import { type CommandResult, table } from '../output.ts';
import type { Tools } from '../tools.ts';
import { openService, type ServiceArguments } from './service.ts';

export interface SettingsArguments extends ServiceArguments {
  readonly returnOrigin?: readonly string[];
  readonly requireConfirmation?: boolean;
}

const path = '/oauth/settings';

export async function showSettings(tools: Tools, args: ServiceArguments): Promise<CommandResult> {
  const service = await openService(tools, args);
  return shown(await service.call(AuthorizationSettings, 'GET', path));
}

export async function listApps(tools: Tools, args: ServiceArguments): Promise<CommandResult> {
  const service = await openService(tools, args);
  const apps = await service.call(v.array(OauthAppRow), 'GET', '/oauth-apps');
  const rows = apps.map((app) => [app.id, app.key, app.workspaceKind ?? 'all kinds', app.clientId]);
  return { json: apps, lines: apps.length === 0 ? ['No OAuth apps.'] : table(rows) };
}

/** Throws usage errors. */
export async function changeSettings(
  tools: Tools,
  { returnOrigin: returnOrigins, requireConfirmation: confirmationRequired, ...args }: SettingsArguments,
): Promise<CommandResult> {
  if (returnOrigins === undefined && confirmationRequired === undefined) {
    throw usageError('Name what changes: --return-origin, --require-confirmation or --no-require-confirmation.');
  }
  const service = await openService(tools, args);
  const body = { returnOrigins, confirmationRequired };
  return shown(await service.call(AuthorizationSettings, 'PATCH', path, { body }));
}

const shown = (settings: AuthorizationSettings): CommandResult => ({
  json: settings,
  lines: table([
    ['return origins', settings.returnOrigins.join(' ') || 'none'],
    ['confirmation', settings.confirmationRequired ? 'required' : 'not required'],
  ]),
});

import { AuthorizationSettings } from '../../core/resources/authorization-settings.ts';
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

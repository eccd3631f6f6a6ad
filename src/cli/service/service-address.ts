import { CommandError, exitCodes, usageError } from '../command-error.ts';
import type { Tools } from '../tools.ts';
import { readProfiles } from './profiles.ts';

/** A service and the key for it. */
export interface ServiceAddress {
  /** The address, without the path of the API and without a slash at its end. */
  readonly url: string;
  readonly apiKey: string;
  /** Where both come from, for messages. */
  readonly origin: string;
}

/** The address of a service that `npm start` started. */
const urlByDefault = 'http://localhost:3100';

/**
 * The service to call: that of `--profile`, else of CSS_API_URL and CSS_API_KEY, else of the profile in use. The key of a
 * profile goes only to the address of that profile. Throws usage errors and what reading profiles throws.
 */
export async function serviceAddress(tools: Pick<Tools, 'env'>, profile: string | undefined): Promise<ServiceAddress> {
  const { CSS_API_URL: url, CSS_API_KEY: apiKey } = tools.env;
  if (profile === undefined && url) {
    if (!apiKey) throw usageError('CSS_API_URL is set without CSS_API_KEY: set the API key of that service too.');
    return { url: baseUrl('CSS_API_URL', url), apiKey, origin: 'CSS_API_URL' };
  }
  const { current, profiles } = await readProfiles(tools);
  const name = profile ?? current;
  const found = name !== null && Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (profile !== undefined && !found)
    throw usageError(`There is no profile "${profile}". css profile list shows them.`);
  if (profile === undefined && apiKey) return { url: found?.url ?? urlByDefault, apiKey, origin: 'CSS_API_KEY' };
  if (found) return { ...found, origin: `profile ${name}` };
  throw new CommandError(
    exitCodes.usage,
    'usage',
    'No service is chosen. Add one: css profile add NAME --url http://localhost:3100, or set CSS_API_URL and CSS_API_KEY.',
  );
}

/** The address of a service without the path of its API. Throws usage errors. */
export function baseUrl(option: string, text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '')
    throw usageError(
      `${option} takes the address of a service, such as http://localhost:3100, without user and password.`,
    );
  return `${url.origin}${url.pathname}`.replace(/(?:\/api(?:\/v1)?)?\/*$/, '');
}

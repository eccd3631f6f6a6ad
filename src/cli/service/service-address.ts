import { CommandError, exitCodes, usageError } from '../command-error.ts';
import type { Tools } from '../tools.ts';
import { readProfiles } from './profiles.ts';

export interface ServiceAddress {
  /** Without the path of the API and without a trailing slash. */
  readonly url: string;
  readonly apiKey: string;
  readonly origin: string;
}

/** The address of `npm start`. */
const urlByDefault = 'http://localhost:3100';

/**
 * The service of `--profile`, else of CSS_API_URL and CSS_API_KEY, else of the profile in use. A profile's key goes
 * only to that profile's address. Throws usage errors and those of reading profiles.
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

/** Throws usage errors. */
export function baseUrl(option: string, text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '')
    throw usageError(
      `${option} takes the address of a service, such as http://localhost:3100, without user and password.`,
    );
  return `${url.origin}${url.pathname}`.replace(/(?:\/api(?:\/v1)?)?\/*$/, '');
}

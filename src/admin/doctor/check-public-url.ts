import type { Config } from '../../config/config.ts';
import { type Finding, found, ok } from './finding.ts';

/** Checks only the form: whether the address responds cannot be known from here. */
export function checkPublicUrl({ publicUrl, nodeEnv }: Pick<Config, 'publicUrl' | 'nodeEnv'>): Finding {
  const check = 'api.public_url';
  const { hostname } = new URL(publicUrl);
  const isOwn = hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.');
  if (nodeEnv !== 'production' || !isOwn) return ok(check, `Callers reach the API at ${publicUrl}.`);
  return found('warning', check, {
    detail: `PUBLIC_URL is ${publicUrl}, which only this machine reaches. Hooks and OAuth give this address to others.`,
    remedy: 'Set PUBLIC_URL of every API and worker to the address under which callers reach the API.',
  });
}

import { loadConfig } from '../config/config.ts';
import { parseAllowList, parseDenyList } from '../core/http/addresses.ts';
import type { LoggedCall } from '../core/http/client.ts';
import { createEgressGuard, type EgressGuard } from '../core/http/egress.ts';
import type { Tools } from './tools.ts';

const variables = ['EGRESS_ALLOW', 'EGRESS_DENY', 'EGRESS_ALLOW_HTTP', 'EGRESS_PROXY'];

/**
 * The guard of the service with the same variables; `allow` are more entries of EGRESS_ALLOW. Throws ConfigError, and a
 * validation error naming bad entries.
 */
export function openEgress({ env }: Pick<Tools, 'env'>, allow: readonly string[]): EgressGuard {
  const config = loadConfig(Object.fromEntries(variables.map((name) => [name, env[name]])));
  return createEgressGuard({
    allow: [...parseAllowList(config.egressAllow), ...parseAllowList(allow.join(','))],
    deny: parseDenyList(config.egressDeny),
    allowHttp: config.egressAllowHttp,
    proxy: config.egressProxy,
  });
}

/** How the address of a blocked call is let through; null: the block is of another kind. */
export function howToAllow(message: string, blocked: LoggedCall | undefined): string | null {
  if (blocked === undefined || !/^Egress blocked \((?:address|plain_http)\)/.test(message)) return null;
  const url = URL.parse(blocked.url);
  if (url === null) return null;
  const port = url.port === '' ? (url.protocol === 'http:' ? '80' : '443') : url.port;
  return `If this address is meant, allow it: --allow ${url.hostname}:${port}`;
}

import { loadConfig } from '../../config/config.ts';
import { AppError } from '../../core/errors.ts';
import { parseAllowList, parseDenyList } from '../../core/http/addresses.ts';
import { createEgressGuard, type EgressGuard } from '../../core/http/egress.ts';
import type { LoggedCall } from '../../core/http/logged-call.ts';
import { usageError } from '../command-error.ts';
import type { Tools } from '../tools.ts';

const variables = ['EGRESS_ALLOW', 'EGRESS_DENY', 'EGRESS_ALLOW_HTTP', 'EGRESS_PROXY'];

/**
 * The service's egress guard with the same variables; `allow` extends EGRESS_ALLOW. Throws ConfigError, and a
 * validation error naming bad entries.
 */
export function openEgress({ env }: Pick<Tools, 'env'>, allow: readonly string[]): EgressGuard {
  const config = loadConfig(Object.fromEntries(variables.map((name) => [name, env[name]])));
  return createEgressGuard({
    allow: [...parseAllowList(config.egressAllow), ...moreEntries(allow)],
    deny: parseDenyList(config.egressDeny),
    allowHttp: config.egressAllowHttp,
    proxy: config.egressProxy,
  });
}

function moreEntries(allow: readonly string[]): ReturnType<typeof parseAllowList> {
  try {
    return parseAllowList(allow.join(','));
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw usageError('--allow takes host:port, such as 127.0.0.1:8085 or [::1]:4010, and no metadata address.', error);
  }
}

/** `null` for blocks that EGRESS_ALLOW cannot lift. */
export function howToAllow(message: string, blocked: LoggedCall | undefined): string | null {
  if (blocked === undefined || !/^Egress blocked \((?:address|plain_http)\)/.test(message)) return null;
  const url = URL.parse(blocked.url);
  if (url === null) return null;
  const port = url.port === '' ? (url.protocol === 'http:' ? '80' : '443') : url.port;
  return `If this address is meant, allow it: --allow ${url.hostname}:${port}`;
}

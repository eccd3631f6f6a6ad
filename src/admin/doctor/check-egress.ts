import { connect } from 'node:net';
import type { Config } from '../../config/config.ts';
import { parseAllowList } from '../../core/http/addresses.ts';
import type { Deps } from '../../deps.ts';
import { type Finding, found, ok } from './finding.ts';

/** Short, so that an unreachable proxy does not keep the operator waiting. */
const connectMsMax = 5000;

/** The forms of EGRESS_ALLOW and EGRESS_PROXY were checked before. */
export async function checkEgress({ egress }: Deps, config: Config): Promise<readonly Finding[]> {
  const allowed = parseAllowList(config.egressAllow);
  const names = allowed.filter((entry) => 'host' in entry);
  const unresolved = await Promise.all(
    names.map(async ({ host, port }) => ((await resolves(egress, host, port)) ? null : `${host}:${port}`)),
  );
  const missing = unresolved.filter((name) => name !== null);
  const listed = found('fault', 'egress.allow', {
    detail: `EGRESS_ALLOW names hosts without an address, or with one that is never allowed: ${missing.join(', ')}.`,
    remedy: 'Correct the names, or the DNS of this machine.',
  });
  return [
    missing.length > 0 ? listed : ok('egress.allow', allowedWords(allowed.length, names.length)),
    ...(config.egressProxy === null ? [] : [await checkProxy(config.egressProxy)]),
  ];
}

const allowedWords = (entries: number, names: number): string =>
  entries === 0
    ? 'EGRESS_ALLOW is empty: no private address is allowed.'
    : `EGRESS_ALLOW has ${entries} ${entries === 1 ? 'entry' : 'entries'}; every name among them (${names}) has an address.`;

const resolves = (egress: Deps['egress'], host: string, port: number): Promise<boolean> =>
  egress.vetHost(host, port).then(
    () => true,
    () => false,
  );

async function checkProxy({ host, port }: NonNullable<Config['egressProxy']>): Promise<Finding> {
  if (await listens(host, port)) return ok('egress.proxy', 'EGRESS_PROXY takes connections.');
  return found('fault', 'egress.proxy', {
    detail: `EGRESS_PROXY takes no connection at ${host}:${port}, so no request reaches a customer.`,
    remedy: 'Start the proxy, or correct EGRESS_PROXY.',
  });
}

/** The proxy is the operator's, so the egress guard does not apply to it. */
function listens(host: string, port: number): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect({ host, port, timeout: connectMsMax });
    const end = (result: boolean) => {
      socket.destroy();
      done(result);
    };
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
    socket.once('timeout', () => end(false));
  });
}

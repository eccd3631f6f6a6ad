import { once } from 'node:events';
import { Socket } from 'node:net';
import * as v from 'valibot';
import { AppError } from '../errors.ts';
import type { EgressGuard } from '../http/egress.ts';
import { isUnreachable } from './sqlserver-errors.ts';

/** Opens the sockets of one login; the driver gives it the address, that of the server's redirects too. */
export type Connector = (...given: readonly unknown[]) => Promise<Socket>;

interface ConnectorOptions {
  readonly guard: Pick<EgressGuard, 'vetHost'>;
  /** False: plain text, which only addresses on `EGRESS_ALLOW` may see. */
  readonly encrypt: boolean;
}

/** What tedious hands to a connector without saying so in its documentation; a contract test holds it. */
const Given = v.looseTuple([
  v.looseObject({ host: v.string(), port: v.number() }),
  v.unknown(),
  v.instance(AbortSignal),
]);

/** Redirects (TDS routing) of one login: Azure needs one. */
const redirectsMax = 2;
/** Addresses tried of one host: two families and a spare. */
const addressesMax = 3;

/** A connector for one login: every target is vetted anew, and the name itself never reaches the driver's resolver. */
export function guardedConnector({ guard, encrypt }: ConnectorOptions): Connector {
  let targets = 0;
  return async (...given) => {
    const [{ host, port }, , signal] = v.parse(Given, given);
    targets += 1;
    if (targets > redirectsMax + 1) {
      const message = `The sqlserver destination redirects more than ${redirectsMax} times; name the last server itself.`;
      throw new AppError('destination_rejected', message);
    }
    const vetted = await guard.vetHost(host, port);
    if (!encrypt && !vetted.every(({ allowListed }) => allowListed)) {
      throw new AppError('egress_blocked', 'The sqlserver destination asks for encrypt false; set it to true.');
    }
    let failure: unknown;
    for (const { address } of vetted.slice(0, addressesMax)) {
      try {
        return await connectTo({ address, port }, signal);
      } catch (error) {
        if (!isUnreachable(error)) throw error;
        failure = error;
      }
    }
    throw failure;
  };
}

async function connectTo(
  { address, port }: { readonly address: string; readonly port: number },
  signal: AbortSignal,
): Promise<Socket> {
  const socket = new Socket();
  try {
    socket.connect({ host: address, port });
    await once(socket, 'connect', { signal });
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

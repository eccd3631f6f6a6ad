import { once } from 'node:events';
import { Socket } from 'node:net';
import { AppError } from '../../../errors.ts';
import type { EgressGuard } from '../../../http/egress.ts';
import { firstOf } from './first-of.ts';
import type { OpenSocket } from './messages.ts';

interface SocketOptions {
  readonly guard: Pick<EgressGuard, 'vetHost'>;
  /** False: plain text, allowed only to addresses on `EGRESS_ALLOW`. */
  readonly encrypt: boolean;
}

/** Redirects (TDS routing) of one login: Azure needs one. */
const redirectsMax = 2;
/** Addresses of one host to try: a listener has one in each subnet of its availability group, which has nine servers at most. */
const addressesMax = 9;
/** Milliseconds until the next address is tried too (RFC 8305 recommends 250): nine are tried within 2 s. */
const staggerMs = 250;

/** Every target is vetted again, and the driver's resolver never sees the host name. */
export function guardedSockets({ guard, encrypt }: SocketOptions): OpenSocket {
  let targets = 0;
  return async ({ host, port }, signal) => {
    targets += 1;
    if (targets > redirectsMax + 1) {
      const message = `The sqlserver destination redirects more than ${redirectsMax} times; set the host to the last server.`;
      throw new AppError('destination_rejected', message);
    }
    const vetted = await guard.vetHost(host, port);
    if (!encrypt && !vetted.every(({ allowListed }) => allowListed)) {
      throw new AppError(
        'egress_blocked',
        'The sqlserver destination sets encrypt false, which is not allowed here; set it to true.',
      );
    }
    return await firstOf(vetted.slice(0, addressesMax), {
      open: ({ address }, lost) => connectTo({ address, port }, lost),
      staggerMs,
      signal,
    });
  };
}

async function connectTo(
  { address, port }: { readonly address: string; readonly port: number },
  signal: AbortSignal,
): Promise<Socket> {
  const socket = new Socket();
  try {
    // Another process will read from it, from the first byte on.
    socket.pause();
    socket.connect({ host: address, port });
    await once(socket, 'connect', { signal });
    signal.throwIfAborted();
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

import type { LocalServer } from '../upstream/guarded-client.ts';

/** A TCP connect as the process asked for it. */
export interface Dial {
  readonly address: string;
  readonly port: number;
}

/** The part of Node's TCP handle that is replaced. */
interface TcpHandle {
  connect: (this: TcpHandle, request: object, address: string, port: number) => number;
  connect6: (this: TcpHandle, request: object, address: string, port: number) => number;
  getpeername: (this: TcpHandle, out: Record<string, unknown>) => number;
}

/**
 * Leads every TCP connect of the process to `server` and records where it was meant to go. Below `net`, so nothing that
 * opens sockets escapes it; sockets report the address that was asked for as their peer unless `peer` is `actual`.
 * Disposing ends it.
 */
export function recordConnects(
  server: LocalServer,
  { peer = 'asked' }: { readonly peer?: 'asked' | 'actual' } = {},
): Disposable & { readonly dials: Dial[] } {
  const handle = tcpPrototype();
  const original = methodsOf(handle);
  const dials: Dial[] = [];
  const asked = new WeakMap<TcpHandle, Dial>();
  const redirect = function (this: TcpHandle, request: object, address: string, port: number): number {
    dials.push({ address, port });
    asked.set(this, { address, port });
    return original.connect.call(this, request, '127.0.0.1', server.port);
  };
  handle.connect = redirect;
  handle.connect6 = redirect;
  handle.getpeername = function (out) {
    const dial = asked.get(this);
    if (dial === undefined || peer === 'actual') return original.getpeername.call(this, out);
    Object.assign(out, dial, { family: dial.address.includes(':') ? 'IPv6' : 'IPv4' });
    return 0;
  };
  return {
    dials,
    [Symbol.dispose]: () => {
      Object.assign(handle, original);
    },
  };
}

const methodsOf = (handle: TcpHandle): TcpHandle => ({
  connect: handle.connect,
  connect6: handle.connect6,
  getpeername: handle.getpeername,
});

function tcpPrototype(): TcpHandle {
  const binding: unknown = Reflect.get(process, 'binding').call(process, 'tcp_wrap');
  return (binding as { TCP: { prototype: TcpHandle } }).TCP.prototype;
}

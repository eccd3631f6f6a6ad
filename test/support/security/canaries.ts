/** Listeners on loopback that nothing may reach: what they hear is a hole in the egress guard. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';

/** All of them on one port, so that one URL per spelling of an address will do. */
export interface Canaries extends AsyncDisposable {
  readonly port: number;
  /** Addresses that are listened to. */
  readonly addresses: readonly string[];
  /** Connections so far, whoever made them. */
  hits(): number;
}

/** 127.0.0.2 is on the loopback interface of Linux only, and `::1` is missing where IPv6 is off. */
const wanted = ['127.0.0.1', '127.0.0.2', '::1'];

/** Starts them; each responses HTTP, since a caller that gets a response says so. */
export async function startCanaries(): Promise<Canaries> {
  const servers: Server[] = [];
  let hits = 0;
  const open = new Set<Socket>();
  const receive = (socket: Socket): void => {
    hits += 1;
    open.add(socket);
    socket.on('error', () => {}).on('close', () => open.delete(socket));
    socket.end('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\nconnection: close\r\n\r\n[]');
  };
  const listen = async (address: string, port: number): Promise<number | null> => {
    const server = createServer(receive);
    server.listen(port, address);
    try {
      await once(server, 'listening');
    } catch {
      return null;
    }
    servers.push(server);
    return (server.address() as AddressInfo).port;
  };
  const port = (await listen('127.0.0.1', 0)) ?? 0;
  const others = wanted.slice(1).map(async (address) => ({ address, port: await listen(address, port) }));
  const received = (await Promise.all(others)).filter((other) => other.port !== null);
  return {
    port,
    addresses: ['127.0.0.1', ...received.map(({ address }) => address)],
    hits: () => hits,
    [Symbol.asyncDispose]: async () => {
      for (const socket of open) socket.destroy();
      await Promise.all(servers.map((server) => new Promise((closed) => server.close(closed))));
    },
  };
}

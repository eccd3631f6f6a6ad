import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { TYPE } from 'tedious/lib/packet.js';
import { readLogin, type TdsLogin } from './tds-login.ts';
import { readRequest, type TdsRequest } from './tds-requests.ts';
import {
  collationToken,
  doneToken,
  errorToken,
  fedAuthToken,
  loginAckToken,
  packetSizeToken,
  resultTokens,
  routingToken,
  type TdsError,
  type TdsRow,
} from './tds-tokens.ts';
import { createWire, type Tamper, type Tls, type Wire } from './tds-wire.ts';
import { PreloginPayload } from './tedious-parts.ts';

/** The outcome of a login. */
type LoginResponse = 'ok' | 'cut' | TdsError | { readonly route: { readonly host: string; readonly port: number } };

/** The outcome of a request: rows of one result, an error, the connection cut, or nothing until it is given up. */
export type RequestReply = readonly TdsRow[] | TdsError | 'cut' | 'silence';

/** How the server responds. */
export interface TdsScript {
  /** Accepted unless given. */
  readonly login?: (login: TdsLogin) => LoginResponse;
  /** No rows unless given. */
  readonly request?: (request: TdsRequest) => RequestReply;
  /** In its place, for a server that keeps something for each connection. */
  readonly session?: () => TdsSession;
  /** Encrypts with this certificate; without it the server has no encryption. */
  readonly tls?: Tls;
  /** With that certificate before the first message (TDS 8), and in no other way. */
  readonly isStrict?: boolean;
  /** Changes what a connection sends; each has one of its own. */
  readonly tamper?: () => Tamper;
  /** Sees the bytes of all connections as they come, encrypted or not. */
  readonly tap?: (bytes: Buffer) => void;
  /** Bytes of a packet, as the server wants them from the login on; the client's own wish unless given. */
  readonly packetSize?: number;
}

/** What a server does for one connection. */
export interface TdsSession {
  request(request: TdsRequest): Promise<RequestReply>;
  /** The first part of a bulk copy is here; the rest is read when this resolves. */
  copying(): Promise<void>;
  /** The connection is gone, perhaps in the middle of a bulk copy. */
  ended(isCopying: boolean): void;
}

/** A scripted server that speaks TDS 7.4, on 127.0.0.1. */
export interface TdsFake extends AsyncDisposable {
  readonly port: number;
  readonly requests: readonly TdsRequest[];
  /** Requests that a client gave up (attention). */
  readonly attentions: number;
  /** Logins that came, let in or not. */
  readonly logins: number;
  /** Sockets that were accepted. */
  readonly connections: number;
}

/** Starts a server that responds by the script, on a free port unless told. */
export async function startTdsFake(script: TdsScript = {}, wanted = { port: 0 }): Promise<TdsFake> {
  const sockets = new Set<Socket>();
  const requests: TdsRequest[] = [];
  let attentions = 0;
  let logins = 0;
  let connections = 0;

  const serve = (socket: Socket) => {
    sockets.add(socket);
    connections += 1;
    socket.on('error', () => socket.destroy());
    if (script.tap) socket.on('data', script.tap);
    const { tls, isStrict = false } = script;
    const wire = createWire(socket, { tls, isStrict, tamper: script.tamper?.() ?? ((bytes) => bytes) });
    const session = script.session?.() ?? statelessSession(script);
    let isCopying = false;
    wire.onPart = (type) => {
      if (isCopying || type !== TYPE['BULK_LOAD']) return;
      isCopying = true;
      socket.pause();
      void session.copying().then(() => socket.resume());
    };
    socket.on('close', () => {
      sockets.delete(socket);
      session.ended(isCopying);
    });
    wire.onIgnored = () => wire.send(doneToken('error'));
    wire.onMessage = (type, data) => {
      if (type === TYPE['PRELOGIN']) {
        return wire.send(prelogin(tls !== undefined), () => !isStrict && wire.encrypt());
      }
      if (type === TYPE['LOGIN7']) {
        logins += 1;
        const login = readLogin(data);
        const features = login.token === null ? [] : [fedAuthToken()];
        const sizes = script.packetSize === undefined ? [] : [packetSizeToken(script.packetSize)];
        return reply(wire, socket, script.login?.(login) ?? 'ok', [...sizes, ...features]);
      }
      if (type === TYPE['ATTENTION']) {
        attentions += 1;
        // The response that was broken off, and the confirmation.
        wire.send(doneToken());
        return wire.send(doneToken('attention'));
      }
      const request = readRequest(type, data);
      if (!request) return;
      isCopying = false;
      requests.push(request);
      void (async () => {
        const replied = await session.request(request);
        if (!socket.destroyed) reply(wire, socket, replied);
      })();
    };
  };

  const listener = createServer(serve);
  listener.listen(wanted.port, '127.0.0.1');
  await once(listener, 'listening');
  const address = listener.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    port: address.port,
    requests,
    get attentions() {
      return attentions;
    },
    get logins() {
      return logins;
    },
    get connections() {
      return connections;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      listener.close();
      await once(listener, 'close');
    },
  };
}

const statelessSession = ({ request }: TdsScript): TdsSession => ({
  request: async (asked) => request?.(asked) ?? [],
  copying: async () => undefined,
  ended: () => undefined,
});

const prelogin = (isEncrypted: boolean): Buffer =>
  new PreloginPayload({ encrypt: isEncrypted, version: { major: 14, minor: 0, build: 0, subbuild: 0 } }).data;

function reply(wire: Wire, socket: Socket, replied: LoginResponse | RequestReply, more: readonly Buffer[] = []): void {
  if (replied === 'silence') return;
  if (replied === 'cut') socket.destroy();
  else if (replied === 'ok') wire.send(Buffer.concat([collationToken(), loginAckToken(), ...more, doneToken()]));
  else if ('route' in replied) {
    wire.send(Buffer.concat([loginAckToken(), routingToken(replied.route), doneToken()]));
  } else if ('number' in replied) wire.send(Buffer.concat([errorToken(replied), doneToken('error')]));
  else wire.send(resultTokens(replied));
}

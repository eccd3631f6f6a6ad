import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { createSecureContext, TLSSocket } from 'node:tls';
import { HEADER_LENGTH, isPacketComplete, Packet, packetLength, TYPE } from 'tedious/lib/packet.js';
import { readRequest, type TdsRequest } from './tds-requests.ts';
import {
  collationToken,
  doneToken,
  errorToken,
  loginAckToken,
  resultTokens,
  routingToken,
  type TdsError,
  type TdsRow,
} from './tds-tokens.ts';
import { PreloginPayload } from './tedious-parts.ts';

/** What becomes of a login. */
export type LoginAnswer =
  | 'ok'
  | 'cut'
  | TdsError
  | { readonly route: { readonly host: string; readonly port: number } };

/** What becomes of a request: rows of one result, an error, the connection cut, or nothing until it is given up. */
export type RequestAnswer = readonly TdsRow[] | TdsError | 'cut' | 'silence';

/** How the server answers. */
export interface TdsScript {
  /** Accepted unless given. */
  readonly login?: () => LoginAnswer;
  /** No rows unless given. */
  readonly request?: (request: TdsRequest) => RequestAnswer;
  /** In its place, for a server that keeps something for each connection. */
  readonly session?: () => TdsSession;
  /** Encrypts with this certificate; without it the server has no encryption. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** Changes what a connection sends; each has one of its own. */
  readonly tamper?: () => Tamper;
}

/** What is sent in place of the bytes: packets of TDS, or records of TLS. `hangUp` ends the connection. */
export type Tamper = (bytes: Buffer, layer: 'tds' | 'tls', hangUp: () => void) => Buffer;

/** What a server does for one connection. */
export interface TdsSession {
  request(request: TdsRequest): Promise<RequestAnswer>;
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
}

/** Packets larger than this are cut in parts. */
const packetDataMax = 4000;

/** Starts a server that answers by the script, on a free port unless told. */
export async function startTdsFake(script: TdsScript = {}, wanted = { port: 0 }): Promise<TdsFake> {
  const sockets = new Set<Socket>();
  const requests: TdsRequest[] = [];
  let attentions = 0;
  let logins = 0;

  const serve = (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    const wire = createWire(socket, { tls: script.tls, tamper: script.tamper?.() ?? ((bytes) => bytes) });
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
    wire.onMessage = (type, data) => {
      if (type === TYPE['PRELOGIN']) return wire.send(prelogin(script.tls !== undefined), () => wire.encrypt());
      if (type === TYPE['LOGIN7']) {
        logins += 1;
        return answer(wire, socket, script.login?.() ?? 'ok');
      }
      if (type === TYPE['ATTENTION']) {
        attentions += 1;
        // The answer that was broken off, and the confirmation.
        wire.send(doneToken());
        return wire.send(doneToken('attention'));
      }
      const request = readRequest(type, data);
      if (!request) return;
      isCopying = false;
      requests.push(request);
      void (async () => {
        const answered = await session.request(request);
        if (!socket.destroyed) answer(wire, socket, answered);
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

function answer(wire: Wire, socket: Socket, answered: LoginAnswer | RequestAnswer): void {
  if (answered === 'silence') return;
  if (answered === 'cut') socket.destroy();
  else if (answered === 'ok') wire.send(Buffer.concat([collationToken(), loginAckToken(), doneToken()]));
  else if ('route' in answered) {
    wire.send(Buffer.concat([loginAckToken(), routingToken(answered.route), doneToken()]));
  } else if ('number' in answered) wire.send(Buffer.concat([errorToken(answered), doneToken('error')]));
  else wire.send(resultTokens(answered));
}

/** Messages in and out of one connection. */
interface Wire {
  onMessage: (type: number, data: Buffer) => void;
  /** A packet of a message that has more. */
  onPart: (type: number) => void;
  send(data: Buffer, sent?: () => void): void;
  /** From now on the client shakes hands in prelogin packets, and what follows is encrypted as a whole. */
  encrypt(): void;
}

interface WireOptions {
  readonly tls: TdsScript['tls'];
  readonly tamper: Tamper;
}

function createWire(socket: Socket, { tls, tamper }: WireOptions): Wire {
  let output: Duplex = socket;
  const put = (to: Duplex, bytes: Buffer, sent?: () => void) => {
    to.write(
      tamper(bytes, to === output ? 'tds' : 'tls', () => socket.end()),
      sent,
    );
  };
  let handshake: Duplex | null = null;
  let isRaw = false;
  const messages = messageReader({
    onMessage: (type, data) => {
      if (handshake && type === TYPE['PRELOGIN']) handshake.push(data);
      else wire.onMessage(type, data);
    },
    onPart: (type) => wire.onPart(type),
  });
  socket.on('data', (chunk) => {
    // The first byte of a TLS record with application data; the handshake came in packets of type 0x12.
    if (handshake && (isRaw || chunk[0] === 0x17)) {
      isRaw = true;
      handshake.push(chunk);
    } else messages(chunk);
  });
  const wire: Wire = {
    onMessage: () => undefined,
    onPart: () => undefined,
    send: (data, sent) => put(output, packets(TYPE['TABULAR_RESULT'] ?? 0, data), sent),
    encrypt() {
      if (!tls) return;
      handshake = new Duplex({
        read: () => undefined,
        write: (chunk: Buffer, _encoding, done) =>
          put(socket, isRaw ? chunk : packets(TYPE['PRELOGIN'] ?? 0, chunk), () => done()),
      });
      const secure = new TLSSocket(handshake, {
        isServer: true,
        secureContext: createSecureContext({ ...tls, maxVersion: 'TLSv1.2' }),
      });
      secure.on('error', () => socket.destroy());
      secure.on(
        'data',
        messageReader({
          onMessage: (type, data) => wire.onMessage(type, data),
          onPart: (type) => wire.onPart(type),
        }),
      );
      output = secure;
    },
  };
  return wire;
}

/** Puts packets together to messages. */
function messageReader({ onMessage, onPart }: Pick<Wire, 'onMessage' | 'onPart'>): (chunk: Buffer) => void {
  let pending = Buffer.alloc(0);
  let parts: Buffer[] = [];
  return (chunk) => {
    pending = Buffer.concat([pending, chunk]);
    while (pending.length >= HEADER_LENGTH && isPacketComplete(pending)) {
      const length = packetLength(pending);
      const packet = new Packet(Buffer.from(pending.subarray(0, length)));
      pending = pending.subarray(length);
      parts.push(packet.data());
      if (!packet.isLast()) {
        onPart(packet.type());
        continue;
      }
      const data = Buffer.concat(parts);
      parts = [];
      onMessage(packet.type(), data);
    }
  };
}

function packets(type: number, data: Buffer): Buffer {
  const all: Buffer[] = [];
  for (let at = 0; at === 0 || at < data.length; at += packetDataMax) {
    const packet = new Packet(type);
    packet.addData(data.subarray(at, at + packetDataMax));
    packet.last(at + packetDataMax >= data.length);
    all.push(packet.buffer);
  }
  return Buffer.concat(all);
}

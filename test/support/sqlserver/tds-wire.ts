import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { createSecureContext, TLSSocket } from 'node:tls';
import { HEADER_LENGTH, isPacketComplete, Packet, packetLength, TYPE } from 'tedious/lib/packet.js';

/** What is sent in place of the bytes: packets of TDS, or records of TLS. `hangUp` ends the connection. */
export type Tamper = (bytes: Buffer, layer: 'tds' | 'tls', hangUp: () => void) => Buffer;

/** A server's certificate. */
export interface Tls {
  readonly cert: string;
  readonly key: string;
}

/** Packets larger than this are cut in parts. */
const packetDataMax = 4000;

/** Messages in and out of one connection. */
export interface Wire {
  onMessage: (type: number, data: Buffer) => void;
  /** A packet of a message that has more. */
  onPart: (type: number) => void;
  /** A message has ended that its client gave up on the way. */
  onIgnored: () => void;
  send(data: Buffer, sent?: () => void): void;
  /** From now on the client shakes hands in prelogin packets, and what follows is encrypted as a whole. */
  encrypt(): void;
}

interface WireOptions {
  readonly tls: Tls | undefined;
  /** Encrypted from the first byte on. */
  readonly isStrict: boolean;
  readonly tamper: Tamper;
}

/** Reads and writes packets, in plain text or as TDS 7 and TDS 8 encrypt. */
export function createWire(socket: Socket, { tls, isStrict, tamper }: WireOptions): Wire {
  const whole = isStrict && tls ? strictSocket(socket, tls) : socket;
  let output: Duplex = whole;
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
    onIgnored: () => wire.onIgnored(),
  });
  whole.on('data', (chunk: Buffer) => {
    // The first byte of a TLS record with application data; the handshake came in packets of type 0x12.
    if (handshake && (isRaw || chunk[0] === 0x17)) {
      isRaw = true;
      handshake.push(chunk);
    } else messages(chunk);
  });
  const wire: Wire = {
    onMessage: () => undefined,
    onPart: () => undefined,
    onIgnored: () => undefined,
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
          onIgnored: () => wire.onIgnored(),
        }),
      );
      output = secure;
    },
  };
  return wire;
}

const ignoreStatus = 0x02;

/** Puts packets together to messages. */
function messageReader({
  onMessage,
  onPart,
  onIgnored,
}: Pick<Wire, 'onMessage' | 'onPart' | 'onIgnored'>): (chunk: Buffer) => void {
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
      if ((packet.buffer.readUInt8(1) & ignoreStatus) !== 0) onIgnored();
      else onMessage(packet.type(), data);
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

/** TLS as any other protocol has it; the client has to name the one it wants. */
function strictSocket(socket: Socket, tls: Tls): TLSSocket {
  const secure = new TLSSocket(socket, {
    isServer: true,
    secureContext: createSecureContext(tls),
    ALPNProtocols: ['tds/8.0'],
  });
  secure.on('error', () => socket.destroy());
  secure.on('secure', () => {
    if (secure.alpnProtocol !== 'tds/8.0') socket.destroy();
  });
  return secure;
}

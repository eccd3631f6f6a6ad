/**
 * What a client sends, read by the grammar of MS-TDS and not by the driver that wrote it: packets (2.2.3.1), and the message
 * of a bulk copy (2.2.6.1: COLMETADATA, rows, DONE). Throws, with the place, at the first byte that may not be there.
 */

/** One packet. */
export interface ReadPacket {
  readonly type: number;
  /** The last one of its message. */
  readonly isLast: boolean;
  /** Its message is to be ignored. */
  readonly isIgnored: boolean;
  readonly id: number;
  readonly data: Buffer;
}

/** The packets of one message. */
export interface ReadMessage {
  readonly type: number;
  readonly isIgnored: boolean;
  readonly packets: readonly ReadPacket[];
  readonly data: Buffer;
}

const headerLength = 8;
const endOfMessage = 0x01;
const ignore = 0x02;
const attention = 0x06;

/** Splits the bytes of one connection, of whole packets only. */
export function readPackets(bytes: Buffer): readonly ReadPacket[] {
  const packets: ReadPacket[] = [];
  for (let at = 0; at < bytes.length; ) {
    const fail = failing(`packet ${packets.length + 1}`);
    if (bytes.length - at < headerLength) fail('its header is cut');
    const [type = 0, status = 0] = bytes.subarray(at, at + 2);
    const length = bytes.readUInt16BE(at + 2);
    const mayBeEmpty = type === attention || (status & ignore) !== 0;
    if (length < headerLength || (length === headerLength && !mayBeEmpty)) fail(`its length is ${length}`);
    if (at + length > bytes.length) fail('it is cut');
    if ((status & ~(endOfMessage | ignore)) !== 0) fail(`its status is ${status}`);
    if ((status & ignore) !== 0 && (status & endOfMessage) === 0) fail('it is to be ignored and not the last one');
    if (bytes.readUInt16BE(at + 4) !== 0) fail('a client has no SPID');
    if (bytes.readUInt8(at + 7) !== 0) fail('its window is not 0');
    const data = bytes.subarray(at + headerLength, at + length);
    const [isLast, isIgnored] = [(status & endOfMessage) !== 0, (status & ignore) !== 0];
    packets.push({ type, isLast, isIgnored, id: bytes.readUInt8(at + 6), data });
    at += length;
  }
  return packets;
}

/** Puts packets together to messages. All but the last packet of a message are as long as they may be. */
export function readMessages(packets: readonly ReadPacket[], packetSize: number): readonly ReadMessage[] {
  const messages: ReadMessage[] = [];
  let parts: ReadPacket[] = [];
  for (const [index, packet] of packets.entries()) {
    const fail = failing(`packet ${index + 1}`);
    const first = parts[0] ?? packet;
    if (packet.type !== first.type) fail(`it is of type ${packet.type} within a message of type ${first.type}`);
    parts.push(packet);
    if (packet.id !== parts.length % 256) fail(`its id is ${packet.id} and not ${parts.length % 256}`);
    const length = packet.data.length + headerLength;
    if (length > packetSize || (!packet.isLast && length < packetSize)) fail(`its length is ${length}`);
    if (!packet.isLast) continue;
    const { type, isIgnored } = packet;
    messages.push({ type, isIgnored, packets: parts, data: Buffer.concat(parts.map(({ data }) => data)) });
    parts = [];
  }
  if (parts.length > 0) throw new Error('The last message has no end');
  return messages;
}

/** A bulk copy, read to its last byte. */
export interface ReadBulk {
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  readonly rows: readonly (readonly (string | number | null)[])[];
  /** Where each row begins and, as the last one, where the rows end. */
  readonly starts: readonly number[];
}

const tokens = { columns: 0x81, row: 0xd1, done: 0xfd } as const;
const doneLength = 13;

/** Reads the message of a bulk copy. */
export function readBulk(data: Buffer): ReadBulk {
  const cursor = cursorOf(data);
  if (cursor.uint8() !== tokens.columns) cursor.fail('it does not begin with its columns');
  const columns = Array.from({ length: cursor.uint16() }, () => readColumn(cursor));
  const rows: (string | number | null)[][] = [];
  const starts: number[] = [];
  for (;;) {
    starts.push(cursor.at());
    const token = cursor.uint8();
    if (token === tokens.row) rows.push(columns.map(({ read }) => read()));
    else if (token === tokens.done) break;
    else cursor.fail(`token ${token} is neither a row nor the end`);
  }
  const end = cursor.bytes(doneLength - 1);
  if (end.some((byte) => byte !== 0)) cursor.fail('the end has a status, a command or a count');
  if (cursor.at() !== data.length) cursor.fail(`${data.length - cursor.at()} bytes follow the end`);
  return { columns: columns.map(({ name, type }) => ({ name, type })), rows, starts };
}

type Cursor = ReturnType<typeof cursorOf>;

function readColumn(cursor: Cursor) {
  if (cursor.uint32() !== 0) cursor.fail('a column has a user type');
  // Read and write, and perhaps nullable.
  if ((cursor.uint16() & ~0b0101) !== 0) cursor.fail('a column has flags that mean something else');
  const kind = cursor.uint8();
  const { type, read } = readType(cursor, kind);
  const name = cursor.text(cursor.uint8() * 2);
  return { name, type, read };
}

function readType(
  cursor: Cursor,
  kind: number,
): { readonly type: string; readonly read: () => string | number | null } {
  switch (kind) {
    case 0x26:
      if (cursor.uint8() !== 4) cursor.fail('a whole number is not of 4 bytes');
      return { type: 'int', read: () => fixed(cursor, 4, (bytes) => bytes.readInt32LE()) };
    case 0x6d:
      if (cursor.uint8() !== 8) cursor.fail('a float is not of 8 bytes');
      return { type: 'float', read: () => fixed(cursor, 8, (bytes) => bytes.readDoubleLE()) };
    case 0xe7: {
      const bytesMax = cursor.uint16();
      cursor.bytes(5);
      if (bytesMax === 0xffff) return { type: 'nvarchar(max)', read: () => chunks(cursor) };
      if (bytesMax === 0 || bytesMax > 8000 || bytesMax % 2 !== 0) cursor.fail(`a text of ${bytesMax} bytes at most`);
      return { type: `nvarchar(${bytesMax / 2})`, read: () => bounded(cursor, bytesMax) };
    }
    default:
      return cursor.fail(`a column is of type ${kind}`);
  }
}

function fixed(cursor: Cursor, length: number, read: (bytes: Buffer) => number): number | null {
  const given = cursor.uint8();
  if (given === 0) return null;
  if (given !== length) cursor.fail(`a number is of ${given} bytes`);
  return read(cursor.bytes(length));
}

function bounded(cursor: Cursor, bytesMax: number): string | null {
  const length = cursor.uint16();
  if (length === 0xffff) return null;
  if (length > bytesMax || length % 2 !== 0) cursor.fail(`a text is of ${length} bytes`);
  return cursor.text(length);
}

const nullLength = 0xffff_ffff_ffff_ffffn;
const unknownLength = 0xffff_ffff_ffff_fffen;

function chunks(cursor: Cursor): string | null {
  const total = cursor.uint64();
  if (total === nullLength) return null;
  const parts: Buffer[] = [];
  for (let length = cursor.uint32(); length > 0; length = cursor.uint32()) parts.push(cursor.bytes(length));
  const bytes = Buffer.concat(parts);
  if (total !== unknownLength && total !== BigInt(bytes.length)) cursor.fail(`a text of ${total} bytes has others`);
  if (bytes.length % 2 !== 0) cursor.fail('half a character');
  return bytes.toString('utf16le');
}

function cursorOf(data: Buffer) {
  let at = 0;
  const fail = (why: string): never => failing(`byte ${at} of ${data.length}`)(why);
  const bytes = (length: number): Buffer => {
    if (at + length > data.length) fail(`${length} bytes are expected`);
    at += length;
    return data.subarray(at - length, at);
  };
  return {
    at: () => at,
    fail,
    bytes,
    uint8: () => bytes(1).readUInt8(),
    uint16: () => bytes(2).readUInt16LE(),
    uint32: () => bytes(4).readUInt32LE(),
    uint64: () => bytes(8).readBigUInt64LE(),
    text: (length: number) => bytes(length).toString('utf16le'),
  };
}

const failing =
  (place: string) =>
  (why: string): never => {
    throw new Error(`${place}: ${why}`);
  };

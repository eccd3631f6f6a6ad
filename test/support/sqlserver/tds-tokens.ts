import { versions } from 'tedious/lib/tds-versions.js';
import { TYPE } from 'tedious/lib/token/token.js';
import { TdsBuffer } from './tedious-parts.ts';

/** A server's error; the severity is 16 unless given. */
export interface TdsError {
  readonly number: number;
  readonly message: string;
  readonly class?: number;
}

/** A row of a result: whole numbers and texts. */
export type TdsRow = Readonly<Record<string, string | number | null>>;

const doneStatus = { final: 0x00, error: 0x02, count: 0x10, more: 0x11, attention: 0x20 };

/** The end of a response. */
export function doneToken(kind: keyof typeof doneStatus = 'final', rowCount = 0): Buffer {
  const buffer = new TdsBuffer();
  buffer.writeUInt8(typeOf('DONE'));
  buffer.writeUInt16LE(doneStatus[kind]);
  buffer.writeUInt16LE(0);
  buffer.writeUInt64LE(rowCount);
  return buffer.slice();
}

/** An error message. */
export function errorToken({ number, message, class: severity = 16 }: TdsError): Buffer {
  const body = new TdsBuffer();
  body.writeUInt32LE(number);
  body.writeUInt8(1);
  body.writeUInt8(severity);
  body.writeUsVarchar(message, 'ucs2');
  body.writeBVarchar('fake', 'ucs2');
  body.writeBVarchar('', 'ucs2');
  body.writeUInt32LE(1);
  return lengthPrefixed('ERROR', body);
}

/** The login is accepted. */
export function loginAckToken(): Buffer {
  const body = new TdsBuffer();
  body.writeUInt8(1);
  body.writeUInt32BE(versions['7_4'] ?? 0);
  body.writeBVarchar('fake', 'ucs2');
  body.writeUInt32BE(0x0e000000);
  return lengthPrefixed('LOGINACK', body);
}

/** The database speaks this collation (Latin1_General_CI_AS); texts cannot be sent before it is known. */
export function collationToken(): Buffer {
  const body = new TdsBuffer();
  body.writeUInt8(7);
  body.writeUInt8(collation.length);
  body.writeBuffer(collation);
  body.writeUInt8(0);
  return lengthPrefixed('ENVCHANGE', body);
}

/** Packets are to be of so many bytes from now on. */
export function packetSizeToken(size: number): Buffer {
  const body = new TdsBuffer();
  body.writeUInt8(4);
  body.writeBVarchar(String(size), 'ucs2');
  body.writeBVarchar('4096', 'ucs2');
  return lengthPrefixed('ENVCHANGE', body);
}

/** The token of Entra ID that came with the login is taken (FEATUREEXTACK). */
export const fedAuthToken = (): Buffer => Buffer.from([typeOf('FEATUREEXTACK'), 0x02, 0, 0, 0, 0, 0xff]);

/** Another server is to be asked. */
export function routingToken({ host, port }: { readonly host: string; readonly port: number }): Buffer {
  const route = new TdsBuffer();
  route.writeUInt8(0);
  route.writeUInt16LE(port);
  route.writeUsVarchar(host, 'ucs2');
  const body = new TdsBuffer();
  body.writeUInt8(20);
  body.writeUsVarbyte(route.slice());
  body.writeUInt16LE(0);
  return lengthPrefixed('ENVCHANGE', body);
}

/** Results: rows that follow each other with the same columns are one. */
export function resultTokens(rows: readonly TdsRow[]): Buffer {
  const results: TdsRow[][] = [];
  for (const row of rows) {
    const last = results.at(-1);
    if (last && namesOf(last[0]) === namesOf(row)) last.push(row);
    else results.push([row]);
  }
  if (results.length <= 1) return resultToken(rows, 'count');
  return Buffer.concat(
    results.map((result, index) => resultToken(result, index < results.length - 1 ? 'more' : 'count')),
  );
}

const namesOf = (row: TdsRow = {}): string => Object.keys(row).join();

/** Columns, typed by their first value, and rows. */
function resultToken(rows: readonly TdsRow[], end: 'count' | 'more'): Buffer {
  const columns = Object.entries(rows[0] ?? {}).map(([name, value]) => ({ name, isInt: typeof value === 'number' }));
  const buffer = new TdsBuffer();
  if (columns.length === 0) return doneToken();
  buffer.writeUInt8(typeOf('COLMETADATA'));
  buffer.writeUInt16LE(columns.length);
  for (const { name, isInt } of columns) {
    buffer.writeUInt32LE(0);
    buffer.writeUInt16LE(nullableFlag);
    buffer.writeBuffer(isInt ? intType : textType);
    buffer.writeBVarchar(name, 'ucs2');
  }
  for (const row of rows) {
    buffer.writeUInt8(typeOf('ROW'));
    for (const { name, isInt } of columns) writeValue(buffer, row[name] ?? null, isInt);
  }
  buffer.writeBuffer(doneToken(end, rows.length));
  return buffer.slice();
}

function writeValue(buffer: TdsBuffer, value: string | number | null, isInt: boolean): void {
  if (isInt) {
    buffer.writeUInt8(value === null ? 0 : 4);
    if (value !== null) buffer.writeInt32LE(Number(value));
  } else if (value === null) buffer.writeBuffer(Buffer.alloc(8, 0xff));
  else {
    const bytes = Buffer.from(String(value), 'utf16le');
    buffer.writeUInt64LE(bytes.length);
    buffer.writeUInt32LE(bytes.length);
    buffer.writeBuffer(bytes);
    if (bytes.length > 0) buffer.writeUInt32LE(0);
  }
}

const collation = Buffer.from([0x09, 0x04, 0xd0, 0x00, 0x34]);
const nullableFlag = 0x01;
const intType = Buffer.from([0x26, 4]);
/** nvarchar(max). */
const textType = Buffer.concat([Buffer.from([0xe7, 0xff, 0xff]), collation]);

function lengthPrefixed(name: string, body: TdsBuffer): Buffer {
  const buffer = new TdsBuffer();
  buffer.writeUInt8(typeOf(name));
  buffer.writeUInt16LE(body.length);
  buffer.writeBuffer(body.slice());
  return buffer.slice();
}

function typeOf(name: string): number {
  const type = Object.entries(TYPE).find(([known]) => known === name)?.[1];
  if (typeof type !== 'number') throw new Error(`${name} is no token`);
  return type;
}

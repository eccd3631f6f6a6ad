import { TYPE } from 'tedious/lib/packet.js';
import { StreamParser } from './tedious-parts.ts';

/** What a client asks: a batch of statements, statements with values (sp_executesql), or rows of a bulk copy. */
export type TdsRequest =
  | { readonly kind: 'batch'; readonly sql: string }
  | {
      readonly kind: 'statements';
      readonly sql: string;
      readonly values: Readonly<Record<string, string | number | null>>;
    }
  | { readonly kind: 'load'; readonly rows: readonly (readonly unknown[])[] };

/** Reads the message of a request; null for one that is none (prelogin, login, attention). */
export function readRequest(type: number, data: Buffer): TdsRequest | null {
  if (type === TYPE['SQL_BATCH']) return { kind: 'batch', sql: data.toString('utf16le', data.readUInt32LE(0)) };
  if (type === TYPE['RPC_REQUEST']) return readStatements(data);
  return type === TYPE['BULK_LOAD'] ? { kind: 'load', rows: readRows(data) } : null;
}

/** sp_executesql, by its number: the statements, the declaration of the parameters, and their values. */
function readStatements(data: Buffer): TdsRequest {
  const procedure = data.readUInt32LE(0);
  if (data.readUInt16LE(procedure) !== 0xffff || data.readUInt16LE(procedure + 2) !== 10) {
    throw new Error('not sp_executesql');
  }
  const cursor = { data, at: procedure + 6 };
  const values: Record<string, string | number | null> = {};
  const texts: (string | number | null)[] = [];
  while (cursor.at < data.length) {
    const name = readName(cursor);
    cursor.at += 1;
    const value = readValue(cursor);
    if (texts.length < 2) texts.push(value);
    else values[name.slice(1)] = value;
  }
  return { kind: 'statements', sql: String(texts[0]), values };
}

interface Cursor {
  readonly data: Buffer;
  at: number;
}

function readName(cursor: Cursor): string {
  const length = cursor.data.readUInt8(cursor.at) * 2;
  const name = cursor.data.toString('utf16le', cursor.at + 1, cursor.at + 1 + length);
  cursor.at += 1 + length;
  return name;
}

function readValue(cursor: Cursor): string | number | null {
  const { data } = cursor;
  const type = data.readUInt8(cursor.at);
  if (type === 0x26) {
    const length = data.readUInt8(cursor.at + 2);
    const value = length === 0 ? null : data.readInt32LE(cursor.at + 3);
    cursor.at += 3 + length;
    return value;
  }
  if (type !== 0xe7) throw new Error(`no type that the tests use: ${type}`);
  const isMax = data.readUInt16LE(cursor.at + 1) === 0xffff;
  cursor.at += 8;
  return isMax ? readChunks(cursor) : readBounded(cursor);
}

function readBounded(cursor: Cursor): string | null {
  const length = cursor.data.readUInt16LE(cursor.at);
  cursor.at += 2;
  if (length === 0xffff) return null;
  cursor.at += length;
  return cursor.data.toString('utf16le', cursor.at - length, cursor.at);
}

function readChunks(cursor: Cursor): string | null {
  const { data } = cursor;
  const isNull = data.readBigUInt64LE(cursor.at) === 0xffff_ffff_ffff_ffffn;
  cursor.at += 8;
  if (isNull) return null;
  const chunks: Buffer[] = [];
  for (;;) {
    const length = data.readUInt32LE(cursor.at);
    cursor.at += 4;
    if (length === 0) return Buffer.concat(chunks).toString('utf16le');
    chunks.push(data.subarray(cursor.at, cursor.at + length));
    cursor.at += length;
  }
}

function readRows(data: Buffer): readonly (readonly unknown[])[] {
  const parser = new StreamParser({
    useUTC: true,
    lowerCaseGuids: false,
    tdsVersion: '7_4',
    useColumnNames: false,
    columnNameReplacer: undefined,
    camelCaseColumns: false,
  });
  parser.write(data);
  const rows: unknown[][] = [];
  for (let token = parser.read(); token; token = parser.read()) {
    if (token.name === 'ROW' && 'columns' in token && Array.isArray(token.columns)) {
      rows.push(token.columns.map(({ value }: { readonly value: unknown }) => value));
    }
  }
  return rows;
}

/** What a SQL Server sends, changed as an attacker or a broken network might: seeded, so that a case can be repeated. */

import { seededNumbers } from '../random/seeded.ts';
import { resultTokens } from './tds-tokens.ts';
import type { Tamper } from './tds-wire.ts';

/** The tampering of one connection, by the number of its case. */
export function mutation(seed: number): Tamper {
  const random = createRandom(seed);
  let left = random.below(messages);
  // Records of TLS are changed on encrypted connections only.
  const changed = random.below(4) === 0 ? 'tls' : 'tds';
  return (bytes, layer, hangUp) => {
    left -= Number(layer === changed);
    if (layer !== changed || left !== -1) return bytes;
    // What waits for more is told that there is none, but for a few, which wait until their time is over.
    if (random.below(100) > 0) setTimeout(hangUp, 2);
    return random.pick(layer === 'tls' ? rawMutations : mutations)(bytes, random);
  };
}

/** In a login and a batch; one of the first of them is changed. */
const messages = 14;
const headerLength = 8;

interface Random {
  /** A whole number from 0 to below. */
  below(bound: number): number;
  pick<T>(list: readonly T[]): T;
}

type Mutate = (bytes: Buffer, random: Random) => Buffer;

function createRandom(seed: number): Random {
  const next = seededNumbers(seed);
  const below = (bound: number): number => next() % bound;
  return {
    below,
    pick: (list) => {
      const item = list[below(list.length)];
      if (item === undefined) throw new Error('An empty list');
      return item;
    },
  };
}

/** A packet of a message; the last one ends it. */
const packet = (data: Buffer): Buffer => {
  const header = Buffer.from([4, 1, 0, 0, 0, 0, 1, 0]);
  header.writeUInt16BE(Math.min(headerLength + data.length, 0xffff), 2);
  return Buffer.concat([header, data.subarray(0, 0xffff - headerLength)]);
};

const bytesOf = (length: number, random: Random): Buffer =>
  Buffer.from(Array.from({ length }, () => random.below(256)));

const telling = [0, 1, 2, 4, 7, 8, 0x10, 0x7f, 0x80, 0xfe, 0xff];

const changeByte: Mutate = (bytes, random) => {
  const changed = Buffer.from(bytes);
  for (let times = random.below(4); times >= 0; times -= 1) {
    changed[random.below(changed.length)] = random.below(2) === 0 ? random.pick(telling) : random.below(256);
  }
  return changed;
};

const changeNumber: Mutate = (bytes, random) => {
  const changed = Buffer.from(bytes);
  const size = random.pick([2, 4, 8]);
  const at = random.below(Math.max(1, changed.length - size));
  changed.fill(random.pick([0, 0xff, 0x7f, 0x80]), at, at + size);
  return changed;
};

const cutShort: Mutate = (bytes, random) => bytes.subarray(0, random.below(bytes.length));

const insert: Mutate = (bytes, random) => {
  const at = random.below(bytes.length);
  return Buffer.concat([bytes.subarray(0, at), bytesOf(1 + random.below(40), random), bytes.subarray(at)]);
};

const repeatPart: Mutate = (bytes, random) => {
  const at = random.below(bytes.length);
  const part = bytes.subarray(at, at + 1 + random.below(200));
  return Buffer.concat([bytes.subarray(0, at), ...Array.from({ length: 1 + random.below(20) }, () => part)]);
};

const changeHeader: Mutate = (bytes, random) => {
  const changed = Buffer.from(bytes);
  changed[random.below(headerLength)] = random.pick(telling);
  return changed;
};

const garbage: Mutate = (_bytes, random) => bytesOf(1 + random.below(3000), random);

const otherProtocol: Mutate = (_bytes, random) =>
  Buffer.from(
    random.pick([
      'HTTP/1.1 400 Bad Request\r\n\r\n<html>',
      'SSH-2.0-OpenSSH_9.9\r\n',
      '\x15\x03\x03\x00\x02\x02\x28',
      'E\0\0\0\x04',
    ]),
    'latin1',
  );

/** The message, with its packet put right around changed tokens. */
const inside =
  (mutate: Mutate): Mutate =>
  (bytes, random) =>
    packet(mutate(bytes.subarray(headerLength).length > 0 ? bytes.subarray(headerLength) : Buffer.alloc(1), random));

/** Tokens as they are on the wire; what they claim is up to the case. */
const tokens: readonly ((random: Random) => Buffer)[] = [
  // COLMETADATA with any type and number of columns, and rows of it.
  (random) => {
    const column = Buffer.concat([
      Buffer.alloc(6),
      Buffer.from([random.below(256)]),
      bytesOf(random.below(12), random),
    ]);
    const count = random.pick([1, 2, 300, 0xfffe, 0xffff]);
    const columns = Array.from({ length: random.below(4) }, () => column);
    return Buffer.concat([Buffer.from([0x81, count & 0xff, count >> 8]), ...columns, Buffer.from([0xd1, 0, 0])]);
  },
  // Many columns of null, each a byte, and rows of a bit for each (NBCROW).
  (random) => {
    const count = random.pick([1, 8, 2000]);
    const column = Buffer.from([0, 0, 0, 0, 0, 0, 0x1f, 0]);
    const row = Buffer.concat([Buffer.from([0xd2]), Buffer.alloc(Math.ceil(count / 8), 0xff)]);
    return Buffer.concat([
      Buffer.from([0x81, count & 0xff, count >> 8]),
      ...Array.from({ length: count }, () => column),
      ...Array.from({ length: random.below(30) }, () => row),
    ]);
  },
  // A text in chunks whose sum is another, or has no end (PLP).
  (random) => {
    const rows = resultTokens([{ a: 'x'.repeat(1 + random.below(30)) }]);
    const at = rows.indexOf(0xd1) + 1;
    const chunks = Buffer.alloc(12 + random.below(8));
    chunks
      .fill(random.pick([0xff, 0xfe, 0, 1]), 0, 8)
      .writeUInt32LE(random.pick([0, 1, 5, 0xffff_ffff, 0x7fff_ffff]), 8);
    return Buffer.concat([rows.subarray(0, at), chunks, rows.subarray(at + 12)]);
  },
  // ENVCHANGE of any type: packet size, collation, transactions, routing.
  (random) => {
    const body = Buffer.concat([Buffer.from([random.below(22)]), bytesOf(random.below(60), random)]);
    const length = random.pick([body.length, 0, 0xffff]);
    return Buffer.concat([Buffer.from([0xe3, length & 0xff, length >> 8]), body]);
  },
  // The packet size of a client, as a text.
  (random) => {
    const text = Buffer.from(random.pick(['0', '1', '512', '-1', '99999999', 'x']), 'utf16le');
    const body = Buffer.concat([Buffer.from([4, text.length / 2]), text, Buffer.from([0])]);
    return Buffer.concat([Buffer.from([0xe3, body.length, 0]), body]);
  },
  // Another server.
  (random) => {
    const host = Buffer.from(random.pick(['127.0.0.1', '', 'a\\b', '169.254.169.254']), 'utf16le');
    const port = random.below(65_536);
    const route = Buffer.concat([Buffer.from([0, port & 0xff, port >> 8, host.length / 2, 0]), host]);
    const body = Buffer.concat([Buffer.from([20, route.length, 0]), route, Buffer.from([0, 0])]);
    return Buffer.concat([Buffer.from([0xe3, body.length, 0]), body]);
  },
  // Any token that starts, with any length.
  (random) => Buffer.concat([Buffer.from([random.below(256)]), bytesOf(random.below(100), random)]),
  // DONE in all states: more to come, error, attention.
  (random) =>
    Buffer.concat([
      Buffer.from([random.pick([0xfd, 0xfe, 0xff]), random.below(256), random.below(4)]),
      bytesOf(10, random),
    ]),
  // ERROR of any severity, several times.
  (random) => {
    const text = Buffer.from('An error.', 'utf16le');
    const body = Buffer.concat([
      bytesOf(6, random),
      Buffer.from([text.length / 2, 0]),
      text,
      Buffer.from([0, 0, 1, 0, 0, 0]),
    ]);
    const one = Buffer.concat([Buffer.from([0xaa, body.length, 0]), body]);
    return Buffer.concat(Array.from({ length: 1 + random.below(3) }, () => one));
  },
];

const token: Mutate = (bytes, random) => {
  const made = Array.from({ length: 1 + random.below(3) }, () => random.pick(tokens)(random));
  const honest = bytes.subarray(headerLength);
  return packet(Buffer.concat(random.below(2) === 0 ? [...made, honest] : made));
};

const mutations: readonly Mutate[] = [
  ...[changeByte, changeNumber, cutShort, insert, repeatPart, changeHeader, garbage, otherProtocol],
  ...[changeByte, changeNumber, cutShort, insert, repeatPart].map(inside),
  ...[token, token, token, token],
];

const rawMutations: readonly Mutate[] = [
  changeByte,
  changeNumber,
  cutShort,
  insert,
  repeatPart,
  garbage,
  otherProtocol,
];

/**
 * The stream of a bulk copy, as it is on the wire, by the grammar of MS-TDS: a boundary between two packets may fall on any
 * byte of a row, and no token may suffer from it.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { parseSqlServerAddress } from '../../src/core/destinations/sqlserver/address.ts';
import { logIn } from '../../src/core/destinations/sqlserver/driver/login.ts';
import type { Load, Session, SessionLimits } from '../../src/core/destinations/sqlserver/driver/session.ts';
import { destinationDeps } from '../support/destinations/destination-deps.ts';
import { openGuard } from '../support/sqlserver/script.ts';
import { startTdsFake, type TdsFake, type TdsScript } from '../support/sqlserver/tds-fake.ts';
import {
  type ReadBulk,
  type ReadMessage,
  readBulk,
  readMessages,
  readPackets,
} from '../support/sqlserver/tds-grammar.ts';

type Cell = Load['rows'][number][number];

const bulkType = 0x07;
const dataOf = (packetSize: number): number => packetSize - 8;

/** What the client sends until it gets told the size of packets that the server wants. */
const firstPacketSize = 4096;

const columns: Load['columns'] = [
  { name: 'n', type: 'int' },
  { name: 'external_id', type: { characters: 450 } },
  { name: 'c1', type: 'float' },
  { name: 'c2', type: { characters: Number.POSITIVE_INFINITY } },
  { name: 'c3', type: { characters: 4000 } },
];

/** Bytes: token 1, n 5, id 2 + 12, float 9, text of any length 8 + its chunk + 4, last text 2. */
const lengthOf = (emoji: number): number => 43 + (emoji === 0 ? 0 : 4 + 4 * emoji);

const rowsOf = (count: number, emoji: number): readonly (readonly Cell[])[] =>
  Array.from({ length: count }, (_, n) => [n, String(n).padStart(6, '0'), n + 0.5, '\u{1f600}'.repeat(emoji), '']);

describe('the stream of a bulk copy', () => {
  it.each([
    ['512 bytes', 512, 12],
    ['4,096 bytes', 4096, 5],
    ['32,767 bytes', 32_767, 0],
  ])('is whole wherever a packet of %s ends within a row', async (_, packetSize, emoji) => {
    const length = lengthOf(emoji);
    // Boundaries wander through the rows: they meet each byte once in `length` packets, as the two have no divisor in common.
    const rows = rowsOf(dataOf(packetSize) + 1, emoji);
    const messages = await sent({ packetSize }, (session) => session.load({ table: '#rows', columns, rows }));
    const boundaries = new Set<number>();
    const read: (readonly Cell[])[] = [];
    for (const message of messages) {
      const bulk = readBulk(message.data);
      read.push(...bulk.rows);
      for (const place of boundariesOf(message, bulk)) boundaries.add(place);
    }
    expect(read).toEqual(rows);
    expect(new Set(messages.flatMap(({ data }) => lengthsOf(readBulk(data))))).toEqual(new Set([length]));
    expect(boundaries.size).toBe(length);
  });

  it('is whole wherever its own end is in a packet', async () => {
    // A character takes two bytes, and one more column an odd number of them: in all, every length there can be.
    const cases = Array.from({ length: dataOf(512) }, (_, length) => [
      [1, 'a', length % 2, 'x'.repeat((length >> 1) + 1), null],
    ]) satisfies Load['rows'][];
    const odd: Load['columns'] = [...columns, { name: 'c4', type: { characters: 10 } }];
    const messages = await sent({ packetSize: 512 }, async (session) => {
      for (const rows of cases) {
        await session.load({ table: '#rows', columns, rows });
        await session.load({ table: '#rows', columns: odd, rows: rows.map((row) => [...row, null]) });
      }
    });
    const read = messages.map(({ data }) => readBulk(data).rows.map((row) => row.slice(0, columns.length)));
    expect(read).toEqual(cases.flatMap((rows) => [rows, rows]));
    expect(new Set(messages.map(({ data }) => data.length % dataOf(512))).size).toBe(dataOf(512));
  });

  it.each([
    ['no rows beyond one', [[0, 'a', null, null, null]]],
    ['only nulls', Array.from({ length: 500 }, (_, n) => [n, null, null, null, null])],
    ['only empty texts', Array.from({ length: 500 }, (_, n) => [n, '', 0, '', ''])],
    ['texts longer than many packets', [[0, 'a', 1, '\u00e9'.repeat(100_001), 'b'.repeat(4000)]]],
    [
      'texts of all lengths',
      Array.from({ length: 600 }, (_, n) => [n, '\u4e2d'.repeat(n % 451), 1 - n, 'x'.repeat(n), null]),
    ],
  ] satisfies (readonly [string, Load['rows']])[])('is whole with %s', async (_, rows) => {
    for (const packetSize of [512, 4096, 32_767]) {
      const messages = await sent({ packetSize }, (session) => session.load({ table: '#rows', columns, rows }));
      expect(messages.flatMap(({ data }) => readBulk(data).rows)).toEqual(rows);
    }
  });

  it('is one message for a batch of megabytes, which the driver gets in parts', async () => {
    const rows = Array.from({ length: 50 }, (_, n) => [n, 'a', null, 'x'.repeat(100_000), null]);
    const messages = await sent({ packetSize: 4096 }, (session) => session.load({ table: '#rows', columns, rows }));
    expect(messages.map(({ data }) => readBulk(data).rows)).toEqual([rows]);
  });

  it('names the columns that its statement has named, of the same types', async () => {
    let statements: readonly string[] = [];
    const rows = rowsOf(1, 0);
    const [message] = await sent({ packetSize: 4096 }, async (session, fake) => {
      await session.load({ table: '#rows', columns, rows });
      statements = fake.requests.flatMap((request) => (request.kind === 'batch' ? [request.sql] : []));
    });
    const named = readBulk(message?.data ?? Buffer.alloc(0)).columns.map(({ name, type }) => `[${name}] ${type}`);
    expect(statements.at(-1)).toBe(`insert bulk [#rows](${named.join(', ')})`);
  });

  it('that is given up in the middle ends with a packet that says so, and nothing follows it', async () => {
    // Long after the driver has given up, the server reads what it was sent.
    const stuck: TdsScript['session'] = () => ({
      request: async () => [],
      copying: () => delay(2000),
      ended: () => undefined,
    });
    // A text that fills the buffers of both sockets, and more behind it that is still to be written.
    const more = Array.from({ length: 50 }, (_, index) => ({ name: `m${index}`, type: { characters: 4000 } }));
    const rows = [[1, 'a', 1, 'x'.repeat(10_000_000), null, ...more.map(() => 'y'.repeat(4000))]];
    const limits = { connectMs: 10_000, statementMs: 300, lockMs: 1000 };
    const messages = await sent({ packetSize: 4096, session: stuck, limits }, async (session) => {
      const loading = session.load({ table: '#rows', columns: [...columns, ...more], rows });
      await expect(loading).rejects.toThrow(/timeout|Timeout|canceled/i);
    });
    expect(messages.map(({ isIgnored }) => isIgnored)).toEqual([true]);
    expect(() => readBulk(messages[0]?.data ?? Buffer.alloc(0))).toThrow(/bytes are expected/);
  });
});

interface Trial extends Pick<TdsScript, 'session' | 'packetSize'> {
  readonly packetSize: number;
  readonly limits?: SessionLimits;
}

/** The messages of bulk copies that a session sends, all its packets checked. */
async function sent(
  { limits = { connectMs: 10_000, statementMs: 60_000, lockMs: 1000 }, ...script }: Trial,
  work: (session: Session, fake: TdsFake) => Promise<void>,
): Promise<readonly ReadMessage[]> {
  const chunks: Buffer[] = [];
  await using fake = await startTdsFake({ ...script, tap: (bytes) => void chunks.push(bytes) });
  const options = { host: '127.0.0.1', port: fake.port, database: 'd', user: 'u', password: 'p', encrypt: false };
  const session = await logIn(parseSqlServerAddress(options), { ...destinationDeps(openGuard), limits });
  await work(session, fake);
  await session[Symbol.asyncDispose]();
  const packets = readPackets(Buffer.concat(chunks));
  const login = packets.findIndex(({ type, isLast }) => type === loginType && isLast) + 1;
  readMessages(packets.slice(0, login), firstPacketSize);
  const messages = readMessages(packets.slice(login), script.packetSize);
  return messages.filter(({ type }) => type === bulkType);
}

const loginType = 0x10;

/** Where in its row each packet but the last one ends, from the first row on. */
function boundariesOf({ packets }: ReadMessage, { starts }: ReadBulk): readonly number[] {
  const places: number[] = [];
  let end = 0;
  let row = 0;
  for (const { data } of packets.slice(0, -1)) {
    end += data.length;
    while ((starts[row + 1] ?? Number.POSITIVE_INFINITY) <= end) row += 1;
    const start = starts[row];
    if (start !== undefined && start <= end && row < starts.length - 1) places.push(end - start);
  }
  return places;
}

const lengthsOf = ({ starts }: ReadBulk): readonly number[] =>
  starts.slice(1).map((end, index) => end - (starts[index] ?? 0));

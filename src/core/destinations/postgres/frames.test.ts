import { describe, expect, it } from 'vitest';
import { createFrameChecker } from './frames.ts';
import { PostgresProtocolError } from './message.ts';

const message = (type: string, ...body: (string | number[] | Buffer)[]): Buffer => {
  const bytes = Buffer.concat(body.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part))));
  const head = Buffer.from(`${type}\0\0\0\0`);
  head.writeUInt32BE(bytes.length + 4, 1);
  return Buffer.concat([head, bytes]);
};
const int16 = (value: number) => [(value >> 8) & 0xff, value & 0xff];
const int32 = (value: number) => [...int16(value >>> 16), ...int16(value & 0xffff)];

const ok = message('R', int32(0));
const ready = message('Z', 'I');
const login = Buffer.concat([ok, message('S', 'server_version\u000018\0'), message('K', int32(1), int32(2)), ready]);
const column = (name: string, format = 0) =>
  Buffer.concat([Buffer.from(`${name}\0`), Buffer.alloc(16), Buffer.from(int16(format))]);
const described = message('T', int16(2), column('a'), column('b'));
const row = message('D', int16(2), int32(1), 'x', int32(-1));
const complete = message('C', 'SELECT 1\0');

const limits = { bytesMax: 100_000, rowsMax: 3 };

/** A checker whose session has logged in, with a statement under way. */
function inStatement(): ReturnType<typeof createFrameChecker> {
  const checker = createFrameChecker();
  checker.push(login);
  checker.expectResponse(limits);
  return checker;
}

describe('messages of a server', () => {
  it('pass when they are whole and keep to the protocol', () => {
    const checker = createFrameChecker();
    expect(checker.push(login)).toEqual(login);
    checker.expectResponse(limits);
    const response = Buffer.concat([message('1'), message('2'), described, row, row, complete, ready]);
    expect(checker.push(response)).toEqual(response);
  });

  it('pass in the same bytes however they are cut', () => {
    const response = Buffer.concat([message('N', 'SNOTICE\0Mhello\0\0'), described, row, complete, ready]);
    for (const size of [1, 2, 3, 7, 30]) {
      const checker = inStatement();
      const passed: Buffer[] = [];
      for (let at = 0; at < response.length; at += size) {
        const messages = checker.push(response.subarray(at, at + size));
        if (messages) passed.push(Buffer.from(messages));
      }
      expect(Buffer.concat(passed)).toEqual(response);
    }
  });

  it('of several statements that were sent at once are those of one after the other', () => {
    const checker = inStatement();
    checker.expectResponse(limits);
    const response = Buffer.concat([described, row, complete, ready]);
    expect(checker.push(Buffer.concat([response, response]))).toHaveLength(2 * response.length);
    expect(() => checker.push(ready)).toThrow(PostgresProtocolError);
  });

  it.each([
    ['a length below its own', Buffer.from([0x44, 0, 0, 0, 3])],
    ['a length of 0', Buffer.from([0x52, 0, 0, 0, 0])],
    ['an error without an end', message('E')],
    ['an error whose text does not end', message('E', 'Mhello')],
    ['an error with something behind its end', message('E', 'Mhello\0\0x')],
    ['a description without a count', message('T')],
    ['a description of columns that are not there', message('T', int16(32_767))],
    ['a description of less than no columns', message('T', int16(-1))],
    [
      'a description of more columns than a result can have',
      message('T', int16(1665), ...Array.from({ length: 1665 }, () => column('a'))),
    ],
    ['a column in another format than text', message('T', int16(1), column('a', 1))],
    ['a row without a description', row],
    ['a row of nothing', message('D')],
    ['a row with other columns', Buffer.concat([described, message('D', int16(1), int32(-1))])],
    [
      'a value that ends behind its message',
      Buffer.concat([described, message('D', int16(2), int32(9), 'x', int32(-1))]),
    ],
    ['a value of less than no bytes', Buffer.concat([described, message('D', int16(2), int32(-2), int32(-1))])],
    ['more bytes than its values have', Buffer.concat([described, message('D', int16(2), int32(-1), int32(-1), 'x')])],
    ['a state that is none', message('Z', 'X')],
    ['a copy that nobody asked for', message('G', [0], int16(0))],
    ['a copy of data', message('d', 'x')],
    ['a description of parameters', message('t', int16(0))],
    ['a notification', message('A', int32(1), 'channel\0payload\0')],
    ['a type that is none', message('!')],
    ['a login behind the login', ok],
  ])('do not pass with %s', (_, bytes) => {
    expect(() => inStatement().push(bytes)).toThrow(PostgresProtocolError);
  });

  it.each([
    ['a kind of login that is unknown', message('R', int32(99))],
    ['a login without its kind', message('R')],
    ['a salt that is too short', message('R', int32(5), [1, 2, 3])],
    ['a list of mechanisms without an end', message('R', int32(10), 'SCRAM-SHA-256\0')],
    ['the same step twice', Buffer.concat([message('R', int32(11), 'r=x'), message('R', int32(11), 'r=x')])],
    ['a step behind the end of the login', Buffer.concat([ok, message('R', int32(3))])],
    ['readiness before the login', ready],
    ['a row', message('D', int16(0))],
  ])('do not pass while we log in with %s', (_, bytes) => {
    expect(() => createFrameChecker().push(bytes)).toThrow(PostgresProtocolError);
  });

  it.each(['C', 'T', 'D', 'Z', '1', 'I'])('of type %s do not pass while no statement is running', (type) => {
    const checker = createFrameChecker();
    checker.push(login);
    expect(() => checker.push(message(type))).toThrow(PostgresProtocolError);
  });
});

describe('a response', () => {
  it.each([
    ['with more rows than were asked for', Buffer.concat([described, row, row, row, row])],
    ['that announces more bytes than it may have', Buffer.from([0x44, 0, 2, 0, 0])],
    [
      'with more bytes than it may have',
      Buffer.concat(Array.from({ length: 200 }, () => message('N', `M${'x'.repeat(1000)}\0\0`))),
    ],
  ])('%s ends the session', (_, bytes) => {
    expect(() => inStatement().push(bytes)).toThrow(/larger than any/);
  });

  it.each([
    ['with more results than any of ours has', Buffer.concat(Array.from({ length: 50_001 }, () => message('C', '\0')))],
    [
      'with more columns than any of ours has',
      Buffer.concat(
        Array.from({ length: 31 }, () => message('T', int16(1664), ...Array.from({ length: 1664 }, () => column('')))),
      ),
    ],
    [
      'with more cells than any of ours has',
      Buffer.concat([
        message('T', int16(1664), ...Array.from({ length: 1664 }, () => column(''))),
        ...Array.from({ length: 31 }, () => message('D', int16(1664), Buffer.alloc(4 * 1664, 0xff))),
      ]),
    ],
  ])('%s ends the session, as large as it may be', (_, bytes) => {
    const checker = createFrameChecker();
    checker.push(login);
    checker.expectResponse({ bytesMax: 100_000_000, rowsMax: 100_000 });
    expect(() => checker.push(bytes)).toThrow(/larger than any/);
  });

  it('ends the session when it was not requested and is long', () => {
    const checker = createFrameChecker();
    checker.push(login);
    const notice = message('N', `M${'x'.repeat(1000)}\0\0`);
    const flood = () => {
      for (let sent = 0; sent < 100; sent += 1) checker.push(notice);
    };
    expect(flood).toThrow(/larger than any/);
  });

  it('to a login ends the session once it is long', () => {
    const flood = Buffer.concat(Array.from({ length: 1000 }, () => message('S', `${'x'.repeat(100)}\0v\0`)));
    expect(() => createFrameChecker().push(flood)).toThrow(/larger than any/);
  });
});

import { expect, test } from 'vitest';
import { charsetOf, decodeText } from './decode-text.ts';

const utf16be = (text: string) => Buffer.from(text, 'utf16le').swap16();

test.each<[string, Uint8Array, string | null]>([
  ['UTF-8 without a charset', Buffer.from('é€'), null],
  ['UTF-8 with its mark', Buffer.from('\uFEFFé€'), null],
  ['windows-1252', Buffer.from([0xe9, 0x80]), 'windows-1252'],
  ['iso-8859-1, read as its superset', Buffer.from([0xe9, 0x80]), 'iso-8859-1'],
  ['UTF-16', Buffer.from('é€', 'utf16le'), 'utf-16'],
  ['UTF-16 with its mark', Buffer.from('\uFEFFé€', 'utf16le'), null],
  ['big-endian UTF-16 with its mark, against the charset', utf16be('\uFEFFé€'), 'utf-16'],
  ['UTF-8 with its mark, against the charset', Buffer.from('\uFEFFé€'), 'windows-1252'],
])('reads %s', (_, bytes, charset) => {
  expect(decodeText(bytes, charset)).toBe('é€');
});

test.each<[Uint8Array, string | null, RegExp]>([
  [Buffer.from([0x61, 0xff]), null, /not valid utf-8/],
  [Buffer.from([0x61, 0xd8, 0x62, 0xd8]), 'utf-16', /not valid utf-16/],
  [Buffer.from('a'), 'klingon', /unknown charset klingon/],
])('refuses %j as %s', (bytes, charset, message) => {
  expect(() => decodeText(bytes, charset)).toThrow(message);
  expect(() => decodeText(bytes, charset)).toThrow(expect.objectContaining({ code: 'source_rejected' }));
});

test.each([
  [undefined, null],
  ['text/csv', null],
  ['text/csv; charset=ISO-8859-1', 'iso-8859-1'],
  ['text/csv;header=present; Charset="utf-16"', 'utf-16'],
])('the charset of %s is %s', (contentType, charset) => {
  expect(charsetOf(contentType)).toBe(charset);
});

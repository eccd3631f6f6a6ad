import { describe, expect, it } from 'vitest';
import { parsePostgresAddress } from './address.ts';

const fields = { host: 'db.example.com', database: 'crm', user: 'sync', password: 's3cret' };
const complete = { ...fields, port: 5432, ssl: 'verify-full', ca: null };

describe('parsePostgresAddress', () => {
  it('reads fields; port and encryption have defaults', () => {
    expect(parsePostgresAddress(fields)).toEqual(complete);
    expect(parsePostgresAddress({ ...fields, port: '6432', ssl: 'require', ca: 'PEM' })).toEqual({
      ...complete,
      port: 6432,
      ssl: 'require',
      ca: 'PEM',
    });
  });

  it('reads a url, percent-encoded parts included', () => {
    const url = 'postgresql://sync%40eu:p%2Fw%3A%23@db.example.com:6432/crm%20eu';
    const parts = { user: 'sync@eu', password: 'p/w:#', port: 6432, database: 'crm eu' };
    expect(parsePostgresAddress({ url })).toEqual({ ...complete, ...parts });
  });

  it('takes an IPv6 address out of its brackets', () => {
    expect(parsePostgresAddress({ url: 'postgres://u:p@[2001:db8::1]/d' }).host).toBe('2001:db8::1');
  });

  it('has an empty password when none is given', () => {
    expect(parsePostgresAddress({ url: 'postgres://u@h/d' }).password).toBe('');
  });

  it.each([
    ['?sslmode=require', 'require'],
    ['?sslmode=disable', 'disable'],
    ['?ssl=true', 'verify-full'],
    ['?ssl=0', 'disable'],
    ['', 'require'],
  ])('lets %j in the url hold over the ssl option', (query, ssl) => {
    expect(parsePostgresAddress({ url: `postgres://u:p@h/d${query}`, ssl: 'require' }).ssl).toBe(ssl);
  });

  it.each([
    'host=h dbname=d',
    'mysql://u:p@h/d',
    'postgres://u:p@h/d?host=/tmp',
    'postgres://u:p@h/d?sslrootcert=/etc/passwd',
    'postgres://u:p@h/d?sslmode=prefer',
    'postgres://u:p@h/d?options=-c%20x',
    'postgres://u:p@h1,h2/d',
    'postgres://u:p@%2Ftmp/d',
    'postgres://u:p@h:0/d',
    'postgres:///d',
    'postgres://u:p@h',
    'postgres://:p@h/d',
    'postgres://u%00database%00x:p@h/d',
    'postgres://u:%E0%A4@h/d',
    'postgres://u:p@h/d#x',
  ])('refuses %s, without repeating it', (url) => {
    expect(() => parsePostgresAddress({ url })).toThrow(
      expect.objectContaining({ code: 'destination_rejected', message: expect.not.stringContaining(':p@') }),
    );
  });

  it.each([
    { host: '' },
    { host: '/var/run/postgresql' },
    { host: 'a b' },
    { host: 'h@other' },
    { port: 65_536 },
    { port: '5432x' },
    { user: 'a\0b' },
    { database: undefined },
    { password: 'a\nb' },
    { ssl: 'allow' },
    { password: { nested: true } },
  ])('refuses %j', (changes) => {
    expect(() => parsePostgresAddress({ ...fields, ...changes })).toThrow(
      expect.objectContaining({ code: 'destination_rejected' }),
    );
  });
});

import { expect, it } from 'vitest';
import { parseSqlServerOptions } from './sqlserver-address.ts';

const options = { host: 'db.test', database: 'shop', user: 'sync', password: 'p' };

it('reads the fields, encrypted and on port 1433 unless told otherwise', () => {
  const address = { host: 'db.test', database: 'shop', port: 1433, encrypt: true, ca: null };
  const identity = { user: 'sync', password: 'p' };
  expect(parseSqlServerOptions(options)).toEqual({ address, identity });
  const changes = { port: '14330', encrypt: false, ca: 'PEM' };
  expect(parseSqlServerOptions({ ...options, ...changes })).toEqual({
    address: { ...address, ...changes, port: 14_330 },
    identity,
  });
});

it.each([
  [{ host: '' }, 'the host is missing'],
  [{ host: 'db\\instance' }, 'the host is not a host name'],
  [{ host: 'tcp:db,1433' }, 'the host is not a host name'],
  [{ port: 0 }, 'the port is not between'],
  [{ database: undefined }, 'the database is missing'],
  [{ user: 'a\0b' }, 'the user has a control character'],
  [{ encrypt: 'no' }, '`encrypt` is not true or false'],
  [{ ca: ['x'] }, '`ca` is not a text'],
])('refuses %j without repeating values', (changes, message) => {
  expect(() => parseSqlServerOptions({ ...options, ...changes })).toThrow(
    expect.objectContaining({ code: 'destination_rejected', message: expect.stringContaining(message) }),
  );
});

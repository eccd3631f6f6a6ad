import { describe, expect, it } from 'vitest';
import { parseSqlServerAddress } from './address.ts';

const options = { host: 'db.test', database: 'shop', user: 'sync', password: 'p' };

it('reads the fields, encrypted and on port 1433 by default', () => {
  const address = { host: 'db.test', database: 'shop', port: 1433, encrypt: true, ca: null };
  const identity = { user: 'sync', password: 'p' };
  expect(parseSqlServerAddress(options)).toEqual({ address, identity });
  const changes = { port: '14330', encrypt: false, ca: 'PEM' };
  expect(parseSqlServerAddress({ ...options, ...changes })).toEqual({
    address: { ...address, ...changes, port: 14_330 },
    identity,
  });
  expect(parseSqlServerAddress({ ...options, encrypt: 'strict' }).address.encrypt).toBe('strict');
});

it.each([
  [{ host: '' }, 'the host is missing'],
  [{ host: 'db\\instance' }, 'the host is not a host name'],
  [{ host: 'tcp:db,1433' }, 'the host is not a host name'],
  [{ port: 0 }, 'the port is not between'],
  [{ database: undefined }, 'the database is missing'],
  [{ user: 'a\0b' }, 'the user has a control character'],
  [{ encrypt: 'no' }, '`encrypt` is not true, false'],
  [{ ca: ['x'] }, '`ca` is not a text'],
])('refuses %j without repeating values', (changes, message) => {
  expect(() => parseSqlServerAddress({ ...options, ...changes })).toThrow(
    expect.objectContaining({ code: 'destination_rejected', message: expect.stringContaining(message) }),
  );
});

describe('an application of Entra ID', () => {
  const authentication = { kind: 'entra_client_credentials', tenantId: 'acme.test', clientId: 'c', clientSecret: 's' };
  const entra = { host: 'db.test', database: 'shop', authentication };

  it('is read in the place of a user, and asks the public cloud for its token by default', () => {
    const identity = { ...authentication, authorityHost: 'login.microsoftonline.com' };
    expect(parseSqlServerAddress(entra).identity).toEqual(identity);
    const authorityHost = 'login.microsoftonline.us';
    const elsewhere = { ...entra, authentication: { ...authentication, authorityHost } };
    expect(parseSqlServerAddress(elsewhere).identity).toEqual({ ...identity, authorityHost });
  });

  it.each([
    [{ ...entra, user: 'sync' }, 'give one of them'],
    [{ ...entra, password: 'p' }, 'give one of them'],
    [{ ...entra, encrypt: false }, 'in plain text'],
    [{ ...entra, authentication: 'x' }, 'not an object'],
    [{ ...entra, authentication: { ...authentication, kind: 'ntlm' } }, 'unknown kind'],
    [{ ...entra, authentication: { ...authentication, authorityHost: 'evil.test' } }, 'not a host of Entra ID'],
    [{ ...entra, authentication: { ...authentication, tenantId: '../x' } }, 'not the id or domain'],
    [{ ...entra, authentication: { ...authentication, tenantId: '..' } }, 'not the id or domain'],
    [{ ...entra, authentication: { ...authentication, clientSecret: '' } }, 'the clientSecret is missing'],
  ])('is refused in %j without repeating values', (given, message) => {
    expect(() => parseSqlServerAddress(given)).toThrow(
      expect.objectContaining({ code: 'destination_rejected', message: expect.stringContaining(message) }),
    );
  });
});

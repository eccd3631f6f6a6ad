import { describe, expect, test } from 'vitest';
import { type ClientAuthMethod, clientAuth } from './client-auth.ts';

const secret = 's-e_c.r*e~t /1';

async function proofOf(method: ClientAuthMethod) {
  const masked: string[] = [];
  const form = new URLSearchParams({ grant_type: 'any', client_id: 'of the spec' });
  const headers = new Headers();
  const proof = clientAuth(method, secret, { mask: (value) => void masked.push(value), now: () => new Date() });
  await proof({ issuer: 'https://login.acme.test/token' }, { client_id: 'client-1.acme:eu' }, form, headers);
  return { authorization: headers.get('authorization'), fields: Object.fromEntries(form), masked };
}

describe('a client proves itself', () => {
  test('by basic authentication that leaves - _ . * as they are, which many servers do not decode', async () => {
    const { authorization, masked } = await proofOf('basic');
    const pair = 'client-1.acme%3Aeu:s-e_c.r*e%7Et+%2F1';
    expect(authorization).toBe(`Basic ${Buffer.from(pair).toString('base64')}`);
    expect(masked).toEqual([pair]);
  });

  test('by fields of the form, over those of the spec', async () => {
    const { authorization, fields } = await proofOf('post');
    expect(authorization).toBeNull();
    expect(fields).toEqual({ grant_type: 'any', client_id: 'client-1.acme:eu', client_secret: secret });
  });

  test('by its name alone when it is public', async () => {
    const { authorization, fields } = await proofOf('none');
    expect(authorization).toBeNull();
    expect(fields).toEqual({ grant_type: 'any', client_id: 'client-1.acme:eu' });
  });
});

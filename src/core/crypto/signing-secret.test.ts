import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { makeSigningSecret, signingSecretIssue } from './signing-secret.ts';
import { webhookHeaders } from './standard-webhook.ts';

const ofBytes = (count: number) => `whsec_${randomBytes(count).toString('base64')}`;

describe('a signing secret', () => {
  it('that is made is valid, never the same, and taken by the reference library', () => {
    const [secret, other] = [makeSigningSecret(), makeSigningSecret()];
    expect(signingSecretIssue(secret)).toBeNull();
    expect(secret).not.toBe(other);
    const headers = webhookHeaders({ id: 'evt_1', sentAt: new Date(), body: '{}' }, [secret]);
    expect(new Webhook(secret).verify('{}', headers)).toEqual({});
  });

  it.each([24, 25, 32, 63, 64])('of %d bytes is taken', (count) => {
    expect(signingSecretIssue(ofBytes(count))).toBeNull();
  });

  it.each([
    ['without its prefix', randomBytes(32).toString('base64'), 'expected `whsec_`'],
    ['of too few bytes', ofBytes(23), 'not of 23'],
    ['of too many bytes', ofBytes(65), 'not of 65'],
    ['in base64url', `whsec_${Buffer.alloc(30, 0xff).toString('base64url')}`, 'base64url'],
    ['in hex', `whsec_${randomBytes(32).toString('hex')}`, 'not hex'],
    ['in upper-case hex', `whsec_${randomBytes(32).toString('hex').toUpperCase()}`, 'not hex'],
    ['without padding', ofBytes(32).replace('=', ''), 'padded'],
    ['with nothing behind its prefix', 'whsec_', 'not of 0'],
    ['with white space', `${ofBytes(33)}\n`, 'padded'],
  ])('%s is refused, and the reason does not repeat it', (_what, secret, reason) => {
    const issue = signingSecretIssue(secret);
    expect(issue).toContain(reason);
    if (secret.length > 'whsec_'.length) expect(issue).not.toContain(secret);
  });
});

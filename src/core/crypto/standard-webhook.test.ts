import { createPublicKey, randomBytes, verify } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { makeSigningKeyPair, signingKeyOf } from './signing-key-pair.ts';
import { secretIssue, webhookHeaders } from './standard-webhook.ts';

const message = { id: 'msg_1', sentAt: new Date(), body: '{"text":"🌍 \\u0000"}' };
const encoded = () => `whsec_${randomBytes(32).toString('base64')}`;

describe('the headers of a message', () => {
  it('are accepted by the reference library', () => {
    const secret = encoded();
    expect(new Webhook(secret).verify(message.body, webhookHeaders(message, [secret]))).toEqual({ text: '🌍 \0' });
  });

  it('are accepted by it when the secret is any text', () => {
    const headers = webhookHeaders(message, ['correct horse é']);
    const webhook = new Webhook(Buffer.from('correct horse é', 'utf8'), { format: 'raw' });
    expect(webhook.verify(message.body, headers)).toBeDefined();
  });

  it('are signed with the current secret first and with those before it, so that each receiver finds its own', () => {
    const [current, previous] = [encoded(), encoded()];
    const headers = webhookHeaders(message, [current, previous]);
    for (const secret of [current, previous]) expect(new Webhook(secret).verify(message.body, headers)).toBeDefined();
    const [first] = headers['webhook-signature'].split(' ');
    expect(first).toBe(webhookHeaders(message, [current])['webhook-signature']);
  });

  it('do not fit another body, id or time', () => {
    const secret = encoded();
    const headers = webhookHeaders(message, [secret]);
    const webhook = new Webhook(secret);
    expect(() => webhook.verify(`${message.body} `, headers)).toThrow(/No matching signature/);
    expect(() => webhook.verify(message.body, { ...headers, 'webhook-id': 'msg_2' })).toThrow(/No matching signature/);
    const later = String(Number(headers['webhook-timestamp']) + 1);
    expect(() => webhook.verify(message.body, { ...headers, 'webhook-timestamp': later })).toThrow(
      /No matching signature/,
    );
  });
});

describe('a secret', () => {
  it.each([encoded(), 'any text', 'whsec'])('can sign: %s', (secret) => {
    expect(secretIssue(secret)).toBeNull();
  });

  it.each([
    ['', 'empty'],
    ['whsec_', 'not standard base64'],
    ['whsec_a-b_', 'not standard base64'],
    ['whsec_00ff', null],
    ['whsec_abc', 'not standard base64'],
  ])('is checked before anything is sent: %j', (secret, issue) => {
    if (issue === null) expect(secretIssue(secret)).toBeNull();
    else expect(secretIssue(secret)).toContain(issue);
  });
});

describe('a v1a signature', () => {
  const pair = makeSigningKeyPair();
  const secret = encoded();
  const headers = webhookHeaders(
    { ...message, body: Buffer.from(message.body) },
    [secret],
    [signingKeyOf(pair.privateKey)],
  );
  const [first = '', second = ''] = headers['webhook-signature'].split(' ');

  it('follows the others, so that a library that does not know it accepts the message', () => {
    expect(first).toMatch(/^v1,/);
    expect(new Webhook(secret).verify(message.body, headers)).toBeDefined();
  });

  it('is verified with the public key, over id, time and body', () => {
    const x = Buffer.from(pair.publicKey.slice('whpk_'.length), 'base64').toString('base64url');
    const key = createPublicKey({ format: 'jwk', key: { kty: 'OKP', crv: 'Ed25519', x } });
    const signature = Buffer.from(second.replace('v1a,', ''), 'base64');
    const signed = (body: string) => Buffer.from(`${message.id}.${headers['webhook-timestamp']}.${body}`);
    expect(verify(null, signed(message.body), key, signature)).toBe(true);
    expect(verify(null, signed(`${message.body} `), key, signature)).toBe(false);
  });
});

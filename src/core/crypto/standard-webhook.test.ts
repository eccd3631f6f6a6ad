import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { secretFault, webhookHeaders } from './standard-webhook.ts';

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
    expect(secretFault(secret)).toBeNull();
  });

  it.each([
    ['', 'empty'],
    ['whsec_', 'not standard base64'],
    ['whsec_a-b_', 'not standard base64'],
    ['whsec_00ff', null],
    ['whsec_abc', 'not standard base64'],
  ])('is judged before anything is sent: %j', (secret, fault) => {
    if (fault === null) expect(secretFault(secret)).toBeNull();
    else expect(secretFault(secret)).toContain(fault);
  });
});

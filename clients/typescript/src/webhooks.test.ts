import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { webhookHeaders } from '../../../src/core/crypto/standard-webhook.ts';
import { exampleEvent } from '../../../src/core/events/catalogue.ts';
import { verifyWebhook, WebhookVerificationError } from './index.ts';

const secret = () => `whsec_${randomBytes(32).toString('base64')}`;
const [current, previous, foreign] = [secret(), secret(), secret()];
const body = JSON.stringify({ ...exampleEvent('run.succeeded'), note: 'ä💧' });
const sentAt = new Date();
const signed = (secrets: readonly string[] = [current]) => webhookHeaders({ id: 'evt_1', sentAt, body }, secrets);
const expectVerified = async (promise: Promise<unknown>) => expect(await promise).toEqual(JSON.parse(body));
const expectRefusal = (promise: Promise<unknown>) => expect(promise).rejects.toBeInstanceOf(WebhookVerificationError);

describe('a webhook', () => {
  it('of the service is verified, and its event is read', async () => {
    const event = await verifyWebhook(body, signed(), { secrets: current });
    expect(event).toEqual(JSON.parse(body));
    expect(event.type === 'run.succeeded' && event.data.run.resourceKey).toBe('contacts');
  });

  it('signed by the reference library is verified', async () => {
    const signature = new Webhook(current).sign('evt_1', sentAt, body);
    const headers = { ...signed([foreign]), 'webhook-signature': signature };
    await expectVerified(verifyWebhook(body, headers, { secrets: current }));
  });

  it('is taken in every form in which servers give it', async () => {
    const headers = signed();
    const upper = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), [value]]));
    for (const form of [headers, new Headers(headers), upper]) {
      for (const bytes of [body, Buffer.from(body), new TextEncoder().encode(body)]) {
        await expectVerified(verifyWebhook(bytes, form, { secrets: current }));
      }
    }
  });

  it('is verified while its secret is replaced: with two signatures, or with two secrets', async () => {
    await expectVerified(verifyWebhook(body, signed([current, previous]), { secrets: previous }));
    await expectVerified(verifyWebhook(body, signed([previous]), { secrets: [current, previous] }));
  });

  it('is verified by a public key', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    const raw = Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url');
    const headers = webhookHeaders({ id: 'evt_1', sentAt, body }, [current], [privateKey]);
    const secrets = `whpk_${raw.toString('base64')}`;
    await expectVerified(verifyWebhook(body, headers, { secrets }));
    await expectRefusal(verifyWebhook(`${body} `, headers, { secrets }));
  });

  it('with another secret, body, id or time is refused', async () => {
    const options = { secrets: current };
    await expectRefusal(verifyWebhook(body, signed(), { secrets: [foreign, previous] }));
    await expectRefusal(verifyWebhook(body.replace('contacts', 'payments'), signed(), options));
    await expectRefusal(verifyWebhook(body, { ...signed(), 'webhook-id': 'evt_2' }, options));
    const later = String(Math.floor(sentAt.getTime() / 1000) + 1);
    await expectRefusal(verifyWebhook(body, { ...signed(), 'webhook-timestamp': later }, options));
  });

  it('with a signature of another scheme, none at all, or no base64 is refused', async () => {
    const { 'webhook-signature': signature } = signed();
    for (const changed of [signature.replace('v1,', 'v1a,'), signature.slice(0, 30), 'v1,%%%', 'v1', ' ', '']) {
      await expectRefusal(verifyWebhook(body, { ...signed(), 'webhook-signature': changed }, { secrets: current }));
    }
    await expectRefusal(verifyWebhook(body, {}, { secrets: current }));
  });

  it('is taken within the tolerance only, in both directions', async () => {
    const at = (seconds: number) => ({
      secrets: current,
      now: Math.floor(sentAt.getTime() / 1000) * 1000 + seconds * 1000,
    });
    for (const seconds of [-300, 0, 300]) await expectVerified(verifyWebhook(body, signed(), at(seconds)));
    for (const seconds of [-301, 301]) await expectRefusal(verifyWebhook(body, signed(), at(seconds)));
    await expectRefusal(verifyWebhook(body, { ...signed(), 'webhook-timestamp': 'NaN' }, at(0)));
    await expectRefusal(verifyWebhook(body, signed(), { ...at(11), toleranceSeconds: 10 }));
  });

  it('cannot be verified with a secret that is none', async () => {
    await expect(verifyWebhook(body, signed(), { secrets: 'whsec_%%' })).rejects.toBeInstanceOf(TypeError);
  });
});

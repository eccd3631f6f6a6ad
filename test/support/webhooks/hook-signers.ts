/** How upstreams sign what they post to a hook, as their own documentation says it. */
import { createHmac } from 'node:crypto';
import { Webhook } from 'standardwebhooks';

/** The headers of a request at that time. */
export type Signer = (body: string, secret: string, at: Date) => Readonly<Record<string, string>>;

const seconds = (at: Date): string => String(Math.floor(at.getTime() / 1000));
const hex = (secret: string, content: string) => createHmac('sha256', secret).update(content).digest('hex');

/** By the kind of verification. */
export const signers = {
  github: (body, secret) => ({
    'x-hub-signature-256': `sha256=${hex(secret, body)}`,
    'x-github-delivery': '72d3162e-cc78-11e3-81ab-4c9367dc0958',
  }),
  shopify: (body, secret) => ({
    'x-shopify-hmac-sha256': createHmac('sha256', secret).update(body).digest('base64'),
    'x-shopify-webhook-id': 'b54557e4-bdd9-4b37-8a5f-bf7d70bcd043',
  }),
  stripe: (body, secret, at) => ({
    'stripe-signature': `t=${seconds(at)},v1=${'0'.repeat(64)},v1=${hex(secret, `${seconds(at)}.${body}`)},v0=old`,
  }),
  slack: (body, secret, at) => ({
    'x-slack-request-timestamp': seconds(at),
    'x-slack-signature': `v0=${hex(secret, `v0:${seconds(at)}:${body}`)}`,
  }),
  standard_webhooks: (body, secret, at) => ({
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': seconds(at),
    'webhook-signature': `v1a,other ${new Webhook(secret).sign('msg_p5jXN8AQM9LWM0D4loKWxJek', at, body)}`,
  }),
  hmac: (body, secret, at) => ({
    'x-acme-time': seconds(at),
    'x-acme-signature': `sig ${createHmac('sha512', secret)
      .update(`${seconds(at)}.${body}`)
      .digest('base64')}`,
  }),
} as const satisfies Record<string, Signer>;

/** What a hook is given, so that it verifies what {@link signers} sign. */
export const verificationOf = (kind: keyof typeof signers): Readonly<Record<string, unknown>> =>
  kind === 'hmac'
    ? {
        kind,
        header: 'X-Acme-Signature',
        algorithm: 'sha512',
        encoding: 'base64',
        prefix: 'sig ',
        content: 'timestamp.body',
        timestampHeader: 'X-Acme-Time',
      }
    : { kind };

/** Decrypts payloads for the Temporal UI and CLI. Outside the versioned interface: it serves operators, across orgs. */
import type { Hono } from 'hono';
import { cors } from 'hono/cors';
import * as v from 'valibot';
import type { Payload, PayloadCodec } from '../core/crypto/payload-codec.ts';
import { isSameText } from '../core/crypto/same-text.ts';
import { boundedList } from './bounded-list.ts';
import { HttpRejection } from './errors.ts';
import { readBody } from './gates/body-gate.ts';
import type { ApiDeps } from './route.ts';
import type { ApiEnv } from './serve-route.ts';

/** Prefix of the path. The rest contains the token and is never logged. */
export const codecPath = '/api/codec/';

/** More than a page of a history has. */
const payloadsMax = 10_000;

const Base64 = v.pipe(v.string(), v.base64());
const Payloads = v.object({
  payloads: boundedList(
    v.object({ metadata: v.optional(v.record(v.string(), Base64), {}), data: v.optional(Base64, '') }),
    payloadsMax,
  ),
});

/**
 * Serves the codec endpoint, or nothing if `codec` is `null`. A wrong token is a 404.
 * The token is in the path because the UI can send no other credential. Any origin may ask: a browser adds no
 * credential of its own.
 */
export function serveCodec(app: Hono<ApiEnv>, { codec: settings }: Pick<ApiDeps, 'codec'>): void {
  if (settings === null) return;
  const path = `${codecPath}:token/decode`;
  app.use(path, cors({ origin: '*', allowMethods: ['POST'], maxAge: 600 }));
  app.post(path, async (c) => {
    if (!isSameText(c.req.param('token'), settings.token)) throw noCodec();
    const { success, output } = v.safeParse(Payloads, await readBody(c.req.raw));
    if (!success) throw new HttpRejection('invalid', 'The body must contain Temporal payloads: { "payloads": [...] }.');
    const payloads = output.payloads.map(({ metadata, data }) => ({
      metadata: fromBase64(metadata),
      data: bytes(data),
    }));
    const decoded = await Promise.all(payloads.map((payload) => decodeOne(settings.codec, payload)));
    return c.json({
      payloads: decoded.map(({ metadata, data }) => ({ metadata: toBase64(metadata), data: text(data) })),
    });
  });
}

/**
 * A payload that does not decrypt stays as it is: the rest of the page stays readable, and its metadata names the key.
 */
async function decodeOne(codec: PayloadCodec, payload: Payload): Promise<Payload> {
  const [decoded = payload] = await codec.decode([payload]).catch(() => [payload]);
  return decoded;
}

const noCodec = (): HttpRejection => new HttpRejection('unknown_path', 'There is no such endpoint.');

const bytes = (base64: string): Uint8Array => Buffer.from(base64, 'base64');
const text = (data: Uint8Array | null | undefined): string => Buffer.from(data ?? []).toString('base64');
const fromBase64 = (metadata: Readonly<Record<string, string>>): Record<string, Uint8Array> =>
  Object.fromEntries(Object.entries(metadata).map(([name, value]) => [name, bytes(value)]));
const toBase64 = (metadata: Payload['metadata']): Record<string, string> =>
  Object.fromEntries(Object.entries(metadata ?? {}).map(([name, value]) => [name, text(value)]));

import { hkdfSync, randomBytes } from 'node:crypto';
import { encrypt } from '../../../src/core/crypto/aes-gcm.ts';
import { createPayloadCodec, type Payload, payloadKeyId } from '../../../src/core/crypto/payload-codec.ts';
import type { RingKey } from '../../../src/core/crypto/secret-box.ts';

/** Seals payloads as the version before did, which bound them to nothing. Texts stay as they are. */
export const sealedBefore =
  ([key]: readonly [RingKey, ...RingKey[]]) =>
  async (payloads: Payload[]): Promise<Payload[]> => {
    const isSealed = (payload?: Payload) => payload !== undefined && payloadKeyId(payload) !== null;
    const now = await createPayloadCodec([key]).encode(payloads);
    return payloads.map((payload, index) => (isSealed(now[index]) ? sealed(payload, key) : payload));
  };

function sealed({ metadata, data }: Payload, { id, key }: RingKey): Payload {
  const [salt, nonce] = [randomBytes(32), randomBytes(12)];
  const names = Object.entries(metadata ?? {}).map(([name, value]) => [name, Buffer.from(value).toString('base64')]);
  const packed = Buffer.concat([
    Buffer.from(`${JSON.stringify(Object.fromEntries(names))}\n`),
    Buffer.from(data ?? []),
  ]);
  const derived = new Uint8Array(hkdfSync('sha256', key, salt, 'css|1|temporal-payload', 32));
  const encrypted = encrypt(packed, { key: derived, nonce, aad: `css|1|temporal-payload|${id}` });
  return {
    metadata: { encoding: Buffer.from('binary/encrypted'), 'encryption-key-id': Buffer.from(id) },
    data: Buffer.concat([salt, nonce, encrypted]),
  };
}

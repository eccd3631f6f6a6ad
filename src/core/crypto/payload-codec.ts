/**
 * What Temporal stores of workflows, encrypted: inputs, results, heartbeats, failures. They hold ids and totals only, so
 * this is the second line. What an operator reads in the Temporal UI stays readable, see {@link isForOperators}.
 */
import { hkdfSync, randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { decrypt, encrypt, keyBytes, nonceBytes } from './aes-gcm.ts';
import type { RingKey } from './secret-box.ts';

/** A value as Temporal stores it. */
export interface Payload {
  metadata?: Record<string, Uint8Array> | null;
  data?: Uint8Array | null;
}

/** Encrypts what is sent to Temporal and decrypts what comes back. */
export interface PayloadCodec {
  encode(this: void, payloads: Payload[]): Promise<Payload[]>;
  /**
   * What is not encrypted comes back as it is: some payloads are for operators, see {@link isForOperators}. Rejects with
   * {@link UnknownPayloadKeyError} when the ring lacks the key, with another error when a payload was altered.
   */
  decode(this: void, payloads: Payload[]): Promise<Payload[]>;
}

/** A payload is under a key that this process was not given. */
export class UnknownPayloadKeyError extends Error {
  override readonly name = 'UnknownPayloadKeyError';
}

const encryptedEncoding = 'binary/encrypted';
const keyIdName = 'encryption-key-id';
const saltBytes = 32;
/** The payloads that share a salt: with random nonces of 12 bytes a key is good for 2^32. */
const sharedMax = 2 ** 20;
/** Salts whose keys are remembered: each process that writes has one at a time. */
const rememberedMax = 100;
const aad = (keyId: string): string => `css|1|temporal-payload|${keyId}`;

/** A codec over the ring: the first key encrypts, all decrypt. Throws when the ring is empty. */
export function createPayloadCodec(ring: readonly RingKey[]): PayloadCodec {
  const [current] = ring;
  if (!current) throw new Error('The key ring is empty: a payload codec needs at least one key.');
  const keyOf = rememberKeys();
  const saltNow = createSalts();
  const seal = (payload: Payload): Payload => {
    const { id } = current;
    const salt = saltNow();
    const nonce = randomBytes(nonceBytes);
    const sealed = encrypt(pack(payload), { key: keyOf(current, salt), nonce, aad: aad(id) });
    return {
      metadata: { encoding: Buffer.from(encryptedEncoding), [keyIdName]: Buffer.from(id) },
      data: Buffer.concat([salt, nonce, sealed]),
    };
  };
  return {
    encode: async (payloads) => payloads.map((payload) => (isForOperators(payload) ? payload : seal(payload))),
    decode: async (payloads) => payloads.map((payload) => open(payload, ring, keyOf)),
  };
}

/** The key for a salt. */
type KeyOf = (ringKey: RingKey, salt: Uint8Array) => Uint8Array;

/** Derives the key for a salt, once. */
function rememberKeys(): KeyOf {
  const known = new LRUCache<string, Uint8Array>({ max: rememberedMax });
  return ({ id, key }, salt) => {
    const name = `${id} ${Buffer.from(salt).toString('base64')}`;
    const remembered = known.get(name);
    if (remembered) return remembered;
    const derived = new Uint8Array(hkdfSync('sha256', key, salt, 'css|1|temporal-payload', keyBytes));
    known.set(name, derived);
    return derived;
  };
}

/** A salt of this process alone, and another one after {@link sharedMax} payloads. */
function createSalts(): () => Buffer {
  let salt = randomBytes(saltBytes);
  let uses = 0;
  return () => {
    if (uses === sharedMax) [salt, uses] = [randomBytes(saltBytes), 0];
    uses += 1;
    return salt;
  };
}

/** The id of the ring key that a payload is encrypted under; null: it is not encrypted. */
export function payloadKeyId({ metadata }: Payload): string | null {
  if (textOf(metadata?.['encoding']) !== encryptedEncoding) return null;
  return textOf(metadata?.[keyIdName]) ?? '';
}

function open(payload: Payload, ring: readonly RingKey[], keyOf: KeyOf): Payload {
  const keyId = payloadKeyId(payload);
  if (keyId === null) return payload;
  const ringKey = ring.find(({ id }) => id === keyId);
  if (!ringKey) {
    throw new UnknownPayloadKeyError(
      `A payload in Temporal is encrypted with key ${keyId}, which SECRETS_KEYS does not contain: add it again after the current key.`,
    );
  }
  const bytes = Buffer.from(payload.data ?? []);
  const [salt, nonce] = [bytes.subarray(0, saltBytes), bytes.subarray(saltBytes, saltBytes + nonceBytes)];
  const sealed = bytes.subarray(saltBytes + nonceBytes);
  return unpack(decrypt(sealed, { key: keyOf(ringKey, salt), nonce, aad: aad(keyId) }));
}

const newline = 0x0a;

/**
 * The bytes of a payload: one line with the metadata, then the data; where there is none, protobufjs has an empty list
 * instead of bytes.
 */
function pack({ metadata, data }: Payload): Buffer {
  const names = Object.entries(metadata ?? {}).map(([name, value]) => [name, Buffer.from(value).toString('base64')]);
  return Buffer.concat([Buffer.from(`${JSON.stringify(Object.fromEntries(names))}\n`), Buffer.from(data ?? [])]);
}

function unpack(packed: Buffer): Payload {
  const end = packed.indexOf(newline);
  const names: Readonly<Record<string, string>> = JSON.parse(packed.toString('utf8', 0, end));
  const metadata = Object.entries(names).map(([name, value]) => [name, Buffer.from(value, 'base64')]);
  return { metadata: Object.fromEntries(metadata), data: packed.subarray(end + 1) };
}

/**
 * Summaries, details and memos are texts on their own. What activities and workflows take and return are objects, but for
 * a state (`running`) and a time; a failure is encoded as an object. The other thing for operators is the response of a
 * workflow to the question for its current details.
 */
function isForOperators({ metadata, data }: Payload): boolean {
  if (textOf(metadata?.['encoding']) !== 'json/plain' || !data) return false;
  const value: unknown = JSON.parse(Buffer.from(data).toString('utf8'));
  if (typeof value !== 'object') return typeof value === 'string';
  return value !== null && Object.keys(value).join() === 'definition,currentDetails';
}

const textOf = (bytes: Uint8Array | undefined): string | undefined => bytes && Buffer.from(bytes).toString('utf8');

/**
 * Encrypts the payloads that Temporal stores: inputs, results, heartbeats, failures. They hold ids and totals only, so
 * this is a second line of defense. It is the first against anyone who can write to Temporal: a payload that opens was
 * sealed by one of our processes, for this workflow or activity. Texts for operators in the Temporal UI stay readable,
 * see {@link isForOperators}.
 */
import { hkdfSync, randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { decrypt, encrypt, keyBytes, nonceBytes } from './aes-gcm.ts';
import type { RingKey } from './secret-box.ts';

export interface Payload {
  metadata?: Record<string, Uint8Array> | null;
  data?: Uint8Array | null;
}

/** The owner of a payload, in the words of the SDK. */
export type PayloadContext =
  | { readonly type: 'workflow'; readonly workflowId: string }
  | { readonly type: 'activity'; readonly workflowId?: string; readonly activityId?: string };

export interface PayloadCodec {
  /** Without a context, a payload is sealed for no place and opens in none that has one. */
  encode(this: void, payloads: Payload[], context?: PayloadContext): Promise<Payload[]>;
  /**
   * Without a context, a payload opens regardless of its place, as operators read it. Rejects with {@link
   * UnknownPayloadKeyError} if the ring lacks the key; {@link CodecOptions} cover other failures.
   */
  decode(this: void, payloads: Payload[], context?: PayloadContext): Promise<Payload[]>;
}

export interface CodecOptions {
  /** Names the place of a payload; one sealed for another place does not open. */
  readonly placeOf?: (context: PayloadContext) => string;
  /**
   * Replaces a payload that none of our processes sealed for the worker. Without it, unencrypted payloads come back
   * unchanged, and others that do not open reject.
   */
  readonly refusal?: (reason: string) => unknown;
  /**
   * Converts a value that was sealed without a place, as the previous version did; `null` stands for no value. Without
   * it, the value stays unchanged.
   */
  readonly fromBefore?: (value: unknown) => unknown;
}

export class UnknownPayloadKeyError extends Error {
  override readonly name = 'UnknownPayloadKeyError';
}

const encryptedEncoding = 'binary/encrypted';
const keyIdName = 'encryption-key-id';
/** Metadata name of the place that a payload is sealed for; absent in payloads of the previous version. */
const placeName = 'sealed-for';
const placeIn = ({ metadata }: Payload): string | undefined => textOf(metadata?.[placeName] ?? undefined);
const saltBytes = 32;
/** Payloads that share a salt: with random nonces of 12 bytes, a key is good for 2^32. */
const sharedMax = 2 ** 20;
/** Salts whose keys are cached: each writing process has one at a time. */
const rememberedMax = 100;
const aad = (keyId: string, place: string | undefined): string =>
  place === undefined ? `css|1|temporal-payload|${keyId}` : `css|2|temporal-payload|${keyId}|${place}`;

/** The first key of the ring encrypts, all decrypt; throws if the ring is empty. */
export function createPayloadCodec(
  ring: readonly RingKey[],
  { placeOf = ({ type }) => type, refusal, fromBefore }: CodecOptions = {},
): PayloadCodec {
  const [current] = ring;
  if (!current) throw new Error('The key ring is empty: a payload codec needs at least one key.');
  const keyOf = rememberKeys();
  const saltNow = createSalts();
  const seal = (payload: Payload, place: string): Payload => {
    const { id } = current;
    const salt = saltNow();
    const nonce = randomBytes(nonceBytes);
    const sealed = encrypt(pack(payload), { key: keyOf(current, salt), nonce, aad: aad(id, place) });
    const names = { encoding: encryptedEncoding, [keyIdName]: id, [placeName]: place };
    return {
      metadata: Object.fromEntries(Object.entries(names).map(([name, text]) => [name, Buffer.from(text)])),
      data: Buffer.concat([salt, nonce, sealed]),
    };
  };
  return {
    async encode(payloads, context) {
      const place = context ? placeOf(context) : '';
      return payloads.map((payload) => (isForOperators(payload) ? payload : seal(payload, place)));
    },
    async decode(payloads, context) {
      const opening = { ring, keyOf, place: context ? placeOf(context) : null };
      if (!refusal) return payloads.map((payload) => open(payload, opening));
      return payloads.map((payload) => openSealed(payload, opening, { refusal, ...(fromBefore && { fromBefore }) }));
    },
  };
}

type KeyOf = (ringKey: RingKey, salt: Uint8Array) => Uint8Array;

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

/** Returns a salt of this process alone, and a new one after {@link sharedMax} payloads. */
function createSalts(): () => Buffer {
  let salt = randomBytes(saltBytes);
  let uses = 0;
  return () => {
    if (uses === sharedMax) [salt, uses] = [randomBytes(saltBytes), 0];
    uses += 1;
    return salt;
  };
}

/** The id of the ring key of a payload; `null` if it is not encrypted. */
export function payloadKeyId({ metadata }: Payload): string | null {
  if (textOf(metadata?.['encoding']) !== encryptedEncoding) return null;
  return textOf(metadata?.[keyIdName]) ?? '';
}

interface Opening {
  readonly ring: readonly RingKey[];
  readonly keyOf: KeyOf;
  /** The place where it is read; `null` if not known. */
  readonly place: string | null;
}

function open(payload: Payload, { ring, keyOf, place }: Opening): Payload {
  const keyId = payloadKeyId(payload);
  if (keyId === null) return payload;
  const ringKey = ring.find(({ id }) => id === keyId);
  if (!ringKey) {
    throw new UnknownPayloadKeyError(
      `A payload in Temporal is encrypted with key ${keyId}, which SECRETS_KEYS does not contain: add it again after the current key.`,
    );
  }
  const sealedFor = placeIn(payload);
  if (place !== null && sealedFor !== undefined && sealedFor !== place) {
    throw new Error(`The sealed value is for "${sealedFor}", not for "${place}".`);
  }
  const bytes = Buffer.from(payload.data ?? []);
  const [salt, nonce] = [bytes.subarray(0, saltBytes), bytes.subarray(saltBytes, saltBytes + nonceBytes)];
  const sealed = bytes.subarray(saltBytes + nonceBytes);
  return unpack(decrypt(sealed, { key: keyOf(ringKey, salt), nonce, aad: aad(keyId, sealedFor) }));
}

type Reading = Pick<CodecOptions, 'fromBefore'> & Required<Pick<CodecOptions, 'refusal'>>;

/**
 * For a worker, which acts on its inputs. A missing key is a configuration mistake: its error is thrown, so that the
 * task is retried until the key is there.
 */
function openSealed(payload: Payload, opening: Opening, { refusal, fromBefore }: Reading): Payload {
  const refused = (reason: string): Payload => toJson(refusal(reason));
  if (payloadKeyId(payload) === null) {
    return isText(payload) ? payload : refused('It is not sealed by the key ring of this service (SECRETS_KEYS).');
  }
  try {
    const opened = open(payload, opening);
    return fromBefore && placeIn(payload) === undefined ? toJson(fromBefore(jsonOf(opened) ?? null)) : opened;
  } catch (error) {
    if (error instanceof UnknownPayloadKeyError) throw error;
    return refused('It was altered, or was sealed for another workflow or activity.');
  }
}

const newline = 0x0a;

/**
 * Serializes a payload: one line with the metadata, then the data. For absent data, protobufjs has an empty list
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
 * Summaries, details and memos are plain texts. Inputs and results are objects, except a state (`running`) and a time;
 * a failure is encoded as an object. Operators also read the response of a workflow to the query for its current
 * details.
 */
function isForOperators(payload: Payload): boolean {
  const value = jsonOf(payload);
  if (typeof value !== 'object') return typeof value === 'string';
  return value !== null && Object.keys(value).join() === 'definition,currentDetails';
}

/** A plain text: a summary, details or a memo value, on which no worker acts. */
const isText = (payload: Payload): boolean => typeof jsonOf(payload) === 'string';

const jsonEncoding = 'json/plain';

const toJson = (value: unknown): Payload => ({
  metadata: { encoding: Buffer.from(jsonEncoding) },
  data: Buffer.from(JSON.stringify(value)),
});

/** The value of a readable payload; `undefined` for any other. */
function jsonOf({ metadata, data }: Payload): unknown {
  if (textOf(metadata?.['encoding']) !== jsonEncoding || !data) return undefined;
  try {
    return JSON.parse(Buffer.from(data).toString('utf8'));
  } catch {
    return undefined;
  }
}

const textOf = (bytes: Uint8Array | undefined): string | undefined => bytes && Buffer.from(bytes).toString('utf8');

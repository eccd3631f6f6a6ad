/**
 * What Temporal stores of workflows, encrypted: inputs, results, heartbeats, failures. They hold ids and totals only, so
 * this is the second line. It is the first against whoever may write to Temporal: a payload that opens was sealed by one of
 * our processes, for the workflow or activity that gets it. What an operator reads in the Temporal UI stays readable, see
 * {@link isForOperators}.
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

/** Whose a payload is, in the words of the SDK. */
export type PayloadContext =
  | { readonly type: 'workflow'; readonly workflowId: string }
  | { readonly type: 'activity'; readonly workflowId?: string; readonly activityId?: string };

/** Encrypts what is sent to Temporal and decrypts what comes back. */
export interface PayloadCodec {
  /** Without a context a payload is sealed for no place, and opens in none that has one. */
  encode(this: void, payloads: Payload[], context?: PayloadContext): Promise<Payload[]>;
  /**
   * Without a context a payload opens wherever it is for, as operators read it. Rejects with {@link UnknownPayloadKeyError}
   * when the ring lacks the key. What else does not open is refused as {@link CodecOptions} say.
   */
  decode(this: void, payloads: Payload[], context?: PayloadContext): Promise<Payload[]>;
}

/** What differs between a worker and everybody else. */
export interface CodecOptions {
  /** The name of the place of a payload; one that was sealed for another place does not open. */
  readonly placeOf?: (context: PayloadContext) => string;
  /**
   * What a worker reads in place of a payload that nobody of us sealed for it. Absent: what is not encrypted comes back as
   * it is, and what does not open rejects.
   */
  readonly refusal?: (reason: string) => unknown;
  /**
   * What a worker reads in place of a value that was sealed for no place, as the version before did; null: of no value.
   * Absent: the value itself.
   */
  readonly fromBefore?: (value: unknown) => unknown;
}

/** A payload is under a key that this process was not given. */
export class UnknownPayloadKeyError extends Error {
  override readonly name = 'UnknownPayloadKeyError';
}

const encryptedEncoding = 'binary/encrypted';
const keyIdName = 'encryption-key-id';
/** The name of the place that a payload is sealed for. The version before sealed for none, and did not have it. */
const placeName = 'sealed-for';
const placeIn = ({ metadata }: Payload): string | undefined => textOf(metadata?.[placeName] ?? undefined);
const saltBytes = 32;
/** The payloads that share a salt: with random nonces of 12 bytes a key is good for 2^32. */
const sharedMax = 2 ** 20;
/** Salts whose keys are remembered: each process that writes has one at a time. */
const rememberedMax = 100;
const aad = (keyId: string, place: string | undefined): string =>
  place === undefined ? `css|1|temporal-payload|${keyId}` : `css|2|temporal-payload|${keyId}|${place}`;

/** A codec over the ring: the first key encrypts, all decrypt. Throws when the ring is empty. */
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

/** What a payload is opened with. */
interface Opening {
  readonly ring: readonly RingKey[];
  readonly keyOf: KeyOf;
  /** Where it is read; null: not known. */
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
 * For a worker, which does what its inputs say. A missing key is a mistake of the configuration: its error is thrown, so that
 * the task is repeated until the key is there.
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
function isForOperators(payload: Payload): boolean {
  const value = jsonOf(payload);
  if (typeof value !== 'object') return typeof value === 'string';
  return value !== null && Object.keys(value).join() === 'definition,currentDetails';
}

/** A text on its own: a summary, details, a value of a memo. Nothing that a worker acts on is one. */
const isText = (payload: Payload): boolean => typeof jsonOf(payload) === 'string';

const jsonEncoding = 'json/plain';

const toJson = (value: unknown): Payload => ({
  metadata: { encoding: Buffer.from(jsonEncoding) },
  data: Buffer.from(JSON.stringify(value)),
});

/** The value of a readable payload; undefined: it is none. */
function jsonOf({ metadata, data }: Payload): unknown {
  if (textOf(metadata?.['encoding']) !== jsonEncoding || !data) return undefined;
  try {
    return JSON.parse(Buffer.from(data).toString('utf8'));
  } catch {
    return undefined;
  }
}

const textOf = (bytes: Uint8Array | undefined): string | undefined => bytes && Buffer.from(bytes).toString('utf8');

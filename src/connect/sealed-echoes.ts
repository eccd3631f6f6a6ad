/**
 * Seals values in which an API repeats a secret. Examples: a next link, a page token, values of a report, a list of
 * partitions, a watermark, a field of a parent, a cached response. Runs continue from these, so each is sealed whole wherever
 * it is stored, at the destination too, and plain only while used.
 */

import { LRUCache } from 'lru-cache';
import type { OrgScope } from '../../db/scope.ts';
import type { SealedSecret, SecretBox } from '../core/crypto/secret-box.ts';
import { isJsonObject } from '../core/json/is-json-object.ts';
import type { JsonObject } from '../core/json/json-object.ts';

export interface SealedEchoes {
  /**
   * Seals the value if it repeats a secret, or may repeat one that has been replaced since. A text becomes a text; any other
   * value becomes an object that only `reveal` reads, with `facts` in the clear for queries.
   */
  hide<Value>(value: Value, facts?: JsonObject): Value;
  /** For a value that the API has just sent, which can repeat only current secrets. */
  hideNew<Value>(value: Value): Value;
  /** `lost` if the key ring no longer opens the value, which then counts as not stored. */
  reveal<Value, Lost>(value: Value, lost: Lost): Value | Lost;
  /** A text with several values is sealed if any of them is. */
  tells(text: string): boolean;
  seal(text: string): string;
  /** False if the key ring no longer opens it. */
  says(sealed: string, text: string): boolean;
}

/** A text of an API that contains this is sealed, too. */
const prefix = 'sealed:';

/** Characters of revealed texts that are remembered: a lane continues from few of them at once. */
const revealedCharsMax = 1_000_000;

/** An earlier version of the service sealed each text by itself; a destination may send back more. */
const textsMax = 1000;

/** `hasSecret` tells whether a text repeats a secret of the connection, in any spelling. */
export function createSealedEchoes(
  box: SecretBox,
  { orgId }: OrgScope,
  { connectionId, hasSecret }: { readonly connectionId: string; readonly hasSecret: (text: string) => boolean },
): SealedEchoes {
  const context = { orgId, ownerId: connectionId, kind: 'echo' } as const;
  // A value that was sealed before stays sealed, even if its secret has been replaced since.
  const revealed = new LRUCache<string, true>({
    maxSize: revealedCharsMax,
    sizeCalculation: (_, text) => text.length + 1,
  });
  let hasRevealedLong = false;
  let hasRevealedValue = false;
  const wasRevealed = (text: string): boolean =>
    text.length < revealedCharsMax ? revealed.has(text) : hasRevealedLong;
  const tells = (text: string): boolean => text.includes(prefix) || hasSecret(text);
  const seal = (text: string): string => textOf(box.seal(text, context));
  const sealValue = (json: string, facts: JsonObject): JsonObject => ({ ...facts, sealed: seal(json) });
  const hide = (value: unknown, isNew: boolean, facts: JsonObject): unknown => {
    if (typeof value === 'string') return (!isNew && wasRevealed(value)) || tells(value) ? seal(value) : value;
    const json = value === null ? undefined : JSON.stringify(value);
    return json !== undefined && ((!isNew && hasRevealedValue) || tells(json)) ? sealValue(json, facts) : value;
  };
  const open = (text: string): string => (isSealed(text) ? box.open(secretOf(text), context) : text);
  const openText = (text: string): string => {
    if (!isSealed(text)) return text;
    const plain = open(text);
    if (plain.length < revealedCharsMax) revealed.set(plain, true);
    else hasRevealedLong = true;
    return plain;
  };
  return {
    hide: (value, facts = {}) => hide(value, false, facts) as typeof value,
    hideNew: (value) => hide(value, true, {}) as typeof value,
    reveal(value, lost) {
      try {
        if (typeof value === 'string') return openText(value) as typeof value;
        if (typeof value !== 'object' || !JSON.stringify(value).includes(prefix)) return value;
        hasRevealedValue = true;
        return withOpened(value, openText);
      } catch {
        return lost;
      }
    },
    tells,
    seal,
    says(sealed, text) {
      try {
        return open(sealed) === text;
      } catch {
        return false;
      }
    },
  };
}

const isSealed = (text: string): boolean => text.startsWith(prefix) && text.split('.', 4).length === 4;

/** Throws when the key ring does not open a sealed part, or when there are too many. */
function withOpened<Value>(value: Value, open: (text: string) => string): Value;
function withOpened(value: unknown, open: (text: string) => string): unknown {
  let left = textsMax;
  const opened = (one: unknown): unknown => {
    if (typeof one === 'string') {
      if (one.startsWith(prefix) && left-- <= 0) throw new Error('The value has too many sealed texts.');
      return open(one);
    }
    if (Array.isArray(one)) return one.map(opened);
    if (!isJsonObject(one)) return one;
    const { sealed } = one;
    if (typeof sealed === 'string' && sealed.startsWith(prefix)) return JSON.parse(open(sealed));
    return Object.fromEntries(Object.entries(one).map(([name, child]) => [name, opened(child)]));
  };
  return opened(value);
}

/** A sealed text within a stored one: its alphabet needs no escape in JSON. */
const stored = /sealed:(?<kekId>[\w-]+)\.(?<wrappedKey>[\w-]+)\.(?<nonce>[\w-]+)\.(?<ciphertext>[\w-]+)/g;

/** Wraps with the first key of the ring; parts that no key opens stay, as they cannot be read anyway. */
export function rewrapEchoes(box: SecretBox, owner: EchoOwner, text: string): string {
  return text.replace(stored, (sealed) => rewrapped(box, owner, sealed) ?? sealed);
}

/** `null` if no key of the ring opens it. */
export function echoKey(box: SecretBox, owner: EchoOwner, sealed: string): string | null {
  if (rewrapped(box, owner, sealed) === null) return null;
  return sealed.slice(prefix.length).split('.', 1)[0] ?? null;
}

export interface EchoOwner {
  readonly orgId: string;
  readonly connectionId: string;
}

function rewrapped(box: SecretBox, { orgId, connectionId }: EchoOwner, sealed: string): string | null {
  try {
    return textOf(box.rewrap(secretOf(sealed), { orgId, ownerId: connectionId, kind: 'echo' }));
  } catch {
    return null;
  }
}

function textOf({ kekId, wrappedKey, nonce, ciphertext }: SealedSecret): string {
  const parts = [wrappedKey, nonce, ciphertext].map((part) => Buffer.from(part).toString('base64url'));
  return [`${prefix}${kekId}`, ...parts].join('.');
}

function secretOf(text: string): SealedSecret {
  const [kekId = '', ...parts] = text.slice(prefix.length).split('.');
  const [wrappedKey, nonce, ciphertext] = parts.map((part) => Buffer.from(part, 'base64url'));
  if (!wrappedKey || !nonce || !ciphertext) throw new Error('The text is not sealed.');
  return { kekId, wrappedKey, nonce, ciphertext };
}

/**
 * What an API sends back of a secret: it may stand in a next link, a page token, the values of a report, a list of partitions,
 * a watermark or a cached response, and a run goes on from all of these. Such a text is sealed wherever it is stored, at the
 * destination too, and is plain only while a run works with it.
 */

import type { OrgScope } from '../../db/scope.ts';
import type { SealedSecret, SecretBox } from '../core/crypto/secret-box.ts';
import { isJsonObject } from '../core/json/is-json-object.ts';

/** Hides texts that repeat a secret in JSON values, and shows them again. */
export interface SealedEchoes {
  /** The value with its telling texts sealed; the value itself where it has none. */
  hide<Value>(value: Value): Value;
  /**
   * The value as it was before it was hidden; `lost` where the key ring no longer opens it: what is stored then counts as not
   * stored.
   */
  reveal<Value, Lost>(value: Value, lost: Lost): Value | Lost;
  /** The text sealed, whatever it says. */
  seal(text: string): string;
  /** Whether a sealed text says that; false where the key ring no longer opens it. */
  says(sealed: string, text: string): boolean;
}

/** Begins a sealed text; one of an API that begins so is sealed, too. */
const prefix = 'sealed:';

/** For one connection; `hasSecret` tells whether a text repeats a secret of it, in whatever spelling. */
export function createSealedEchoes(
  box: SecretBox,
  { orgId }: OrgScope,
  { connectionId, hasSecret }: { readonly connectionId: string; readonly hasSecret: (text: string) => boolean },
): SealedEchoes {
  const context = { orgId, ownerId: connectionId, kind: 'echo' } as const;
  /** Texts that were sealed before: they stay so, although a secret in them has been replaced since. */
  const revealed = new Set<string>();
  const isTelling = (text: string): boolean => text.includes(prefix) || revealed.size > 0 || hasSecret(text);
  const seal = (text: string): string => textOf(box.seal(text, context));
  const sealTelling = (text: string): string =>
    text.startsWith(prefix) || revealed.has(text) || hasSecret(text) ? seal(text) : text;
  const open = (text: string): string => {
    const isSealed = text.startsWith(prefix) && text.split('.').length >= 4;
    return isSealed ? box.open(secretOf(text), context) : text;
  };
  const openTelling = (text: string): string => {
    const plain = open(text);
    if (plain !== text) revealed.add(plain);
    return plain;
  };
  return {
    hide: (value) => (isTelling(JSON.stringify(value) ?? '') ? withTexts(value, sealTelling) : value),
    reveal(value, lost) {
      if (!JSON.stringify(value)?.includes(prefix)) return value;
      try {
        return withTexts(value, openTelling);
      } catch {
        return lost;
      }
    },
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

/** Where a sealed text stands in a stored one: its alphabet needs no escape in JSON. */
const stored = /sealed:(?<kekId>[\w-]+)\.(?<wrappedKey>[\w-]+)\.(?<nonce>[\w-]+)\.(?<ciphertext>[\w-]+)/g;

/** A stored text with each sealed one under the first key of the ring. Those that no key of it opens stay, as nobody reads them. */
export function rewrapEchoes(box: SecretBox, owner: EchoOwner, text: string): string {
  return text.replace(stored, (sealed) => rewrapped(box, owner, sealed) ?? sealed);
}

/** The key that wraps a sealed text; null: no key of the ring opens it. */
export function echoKey(box: SecretBox, owner: EchoOwner, sealed: string): string | null {
  if (rewrapped(box, owner, sealed) === null) return null;
  return sealed.slice(prefix.length).split('.', 1)[0] ?? null;
}

/** Whose a sealed text is. */
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

/** Throws when the text has not the form of a sealed one. */
function secretOf(text: string): SealedSecret {
  const [kekId = '', ...parts] = text.slice(prefix.length).split('.');
  const [wrappedKey, nonce, ciphertext] = parts.map((part) => Buffer.from(part, 'base64url'));
  if (!wrappedKey || !nonce || !ciphertext) throw new Error('The text is not sealed.');
  return { kekId, wrappedKey, nonce, ciphertext };
}

/** JSON with its texts changed; the names of fields stay. */
function withTexts<Value>(value: Value, change: (text: string) => string): Value;
function withTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((child) => withTexts(child, change));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, child]) => [name, withTexts(child, change)]));
}

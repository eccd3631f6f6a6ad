import { hash } from 'node:crypto';
import { canonicalJson, type IgnoredPaths } from './canonical-json.ts';

/**
 * Makes the function that gives a record its fingerprint: base64url of SHA-256 (43 characters) over the record's
 * canonical JSON without the ignored dotted paths, and over `salt`, the fingerprint of the resource and of the tables
 * that count for changes. Equal fingerprints mean that the record needs no delivery. `whole` is the record's canonical
 * JSON where it is at hand; null: it is not.
 */
export function createFingerprint(options: {
  readonly ignore: readonly string[];
  readonly salt: string;
}): (record: unknown, whole?: string | null) => string {
  const ignored = options.ignore.length === 0 ? undefined : pathTree(options.ignore);
  const digest = createDigest(`${options.salt}\n`);
  return (record, whole = null) => {
    const text = ignored === undefined && whole !== null ? whole : canonicalJson(record, ignored);
    return digest(text);
  };
}

/** Most texts fit; longer ones are hashed as texts. */
const bytesMax = 64 * 1024;
const bytesPerUnitMax = 3;

/** Hashes texts behind a common beginning: it is written once, and no text is put together for one hash. */
function createDigest(beginning: string): (text: string) => string {
  const bytes = Buffer.allocUnsafe(bytesMax);
  const start = bytes.write(beginning);
  const unitsMax = (bytesMax - start) / bytesPerUnitMax;
  return (text) => {
    if (text.length >= unitsMax) return hash('sha256', beginning + text, 'base64url');
    return hash('sha256', bytes.subarray(0, start + bytes.write(text, start)), 'base64url');
  };
}

function pathTree(paths: readonly string[]): IgnoredPaths {
  const root: MutablePaths = new Map();
  for (const path of paths) {
    const names = path.split('.');
    const last = names.pop() ?? '';
    let level: MutablePaths | true = root;
    for (const name of names) {
      if (level === true) break;
      const below: true | MutablePaths = level.get(name) ?? new Map();
      level.set(name, below);
      level = below;
    }
    if (level !== true) level.set(last, true);
  }
  return root;
}

interface MutablePaths extends Map<string, true | MutablePaths> {}

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
  return (record, whole = null) => {
    const text = ignored === undefined && whole !== null ? whole : canonicalJson(record, ignored);
    return hash('sha256', `${options.salt}\n${text}`, 'base64url');
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

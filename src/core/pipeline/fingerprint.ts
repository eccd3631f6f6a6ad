import { fingerprintOf } from '../crypto/digest.ts';
import { canonicalJson, type IgnoredPaths } from '../json/canonical-json.ts';

interface FingerprintOptions {
  /** Dotted paths that do not count. */
  readonly ignore: readonly string[];
  /** Fingerprint of the resource and of the tables that count for changes. */
  readonly salt: string;
}

/**
 * Returns a function for the fingerprint of a record: a digest (20 characters) of salt and canonical JSON without
 * ignored paths. Equal fingerprints mean that the record needs no delivery.
 */
export function createFingerprint({
  ignore,
  salt,
}: FingerprintOptions): (record: unknown, ofPartition?: string) => string {
  const ignored = ignore.length === 0 ? undefined : pathTree(ignore);
  return (record, ofPartition = '') => fingerprintOf(`${saltIn(salt, ofPartition)}\n${canonicalJson(record, ignored)}`);
}

/** The salt within a partition, whose digest is empty if none of its values shape records. */
export const saltIn = (salt: string, ofPartition: string): string =>
  ofPartition === '' ? salt : `${salt}\n${ofPartition}`;

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

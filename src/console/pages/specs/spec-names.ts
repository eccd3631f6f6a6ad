import compareVersions from 'semver/functions/compare.js';
import increaseVersion from 'semver/functions/inc.js';
import * as v from 'valibot';
import { SpecKey } from '../../../core/json/property-names.ts';
import { SpecVersion } from '../../../core/spec/schema/spec-schema.ts';

/** The document may be invalid; empty without a key. */
export function specKeyIn(document: unknown): string {
  const { metadata }: { readonly metadata?: unknown } = Object(document);
  const { key }: { readonly key?: unknown } = Object(metadata);
  return typeof key === 'string' ? key : '';
}

export const isSpecVersion = ({ key, version }: { readonly key: string; readonly version: string }): boolean =>
  v.is(SpecKey, key) && v.is(SpecVersion, version);

/** The next minor version after the highest of these. */
export function nextVersion(versions: readonly string[]): string {
  const highest = versions.toSorted(compareVersions).at(-1) ?? '0.0.0';
  return increaseVersion(highest, 'minor') ?? highest;
}

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

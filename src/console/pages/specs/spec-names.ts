import * as v from 'valibot';
import { SpecKey } from '../../../core/json/property-names.ts';
import { SpecVersion } from '../../../core/spec/schema/spec-schema.ts';

/** The key in a spec document that may not be valid; empty: it has none. */
export function specKeyIn(document: unknown): string {
  const { metadata }: { readonly metadata?: unknown } = Object(document);
  const { key }: { readonly key?: unknown } = Object(metadata);
  return typeof key === 'string' ? key : '';
}

/** Whether these can be the names of a version. */
export const isSpecVersion = ({ key, version }: { readonly key: string; readonly version: string }): boolean =>
  v.is(SpecKey, key) && v.is(SpecVersion, version);

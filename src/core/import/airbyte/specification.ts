import { isJsonObject } from '../../json/is-json-object.ts';
import { Refusal } from '../refusal.ts';
import type { Resolver } from './manifest/resolve-references.ts';

export interface Specification {
  readonly connection: unknown;
  readonly key: string;
  readonly title: string;
  readonly docsUrl: string | null;
}

/** Reads `spec` of a manifest; an unresolvable one counts as missing. */
export function specificationOf(manifest: Readonly<Record<string, unknown>>, resolver: Resolver): Specification {
  const spec = resolved(manifest, resolver);
  const connection = spec['connection_specification'];
  const title = isJsonObject(connection) && typeof connection['title'] === 'string' ? connection['title'] : '';
  const docsUrl = spec['documentation_url'];
  const fromDocs = typeof docsUrl === 'string' ? (/\/sources\/([A-Za-z0-9-]+)/.exec(docsUrl)?.[1] ?? '') : '';
  const fromTitle = title.replace(/\b(?:source|spec|connection|configuration|connector)\b/gi, '').trim();
  const name = fromDocs === '' ? fromTitle : fromDocs;
  return {
    connection,
    key: keyOf(name),
    title: (fromTitle === '' ? name : fromTitle) || 'Airbyte connector',
    docsUrl: typeof docsUrl === 'string' && isAddress(docsUrl) ? docsUrl : null,
  };
}

function resolved(manifest: Readonly<Record<string, unknown>>, resolver: Resolver): Readonly<Record<string, unknown>> {
  try {
    const spec = resolver.resolve(manifest['spec'], 'spec');
    return isJsonObject(spec) ? spec : {};
  } catch (error) {
    if (error instanceof Refusal) return {};
    throw error;
  }
}

function keyOf(name: string): string {
  const key = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 63);
  return key === '' || key === 'constructor' || key === 'prototype' ? 'airbyte-import' : key;
}

function isAddress(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.username === '' && text.length <= 2000;
}

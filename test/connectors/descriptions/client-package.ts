import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Description, eachField } from './description.ts';

/** A vendor's client and what of it counts. */
export interface ClientPackage {
  readonly source: string;
  readonly folder: string;
  /** Globs of the files that name paths, parameters and fields. */
  readonly files: readonly string[];
  /** Fields whose own fields the customers name. */
  readonly free?: readonly string[];
}

/**
 * Reads the client that a vendor generates or publishes: a path counts when a text of the client has all its segments, a
 * parameter or field when its name occurs, in any notation.
 */
export function clientDescription({ source, folder, files, free = [] }: ClientPackage): Description {
  const paths = new Set<string>();
  const words = new Set<string>();
  for (const file of globSync([...files], { cwd: folder })) {
    const text = readFileSync(join(folder, file), 'utf8');
    for (const [, path = ''] of text.matchAll(/["'`](\/?[\w.${}()!/:%-]+\/?)["'`]/g)) paths.add(normalized(path));
    for (const [word] of text.matchAll(/[A-Za-z_]\w*/g)) words.add(plain(word));
  }
  const isKnown = (name: string) => (name.match(/\w+/g) ?? []).every((part) => words.has(plain(part)));
  return {
    source,
    operation: (_, path) =>
      waysToWrite(path).some((way) => paths.has(way))
        ? {
            hasParameter: isKnown,
            unknownFields(__, body) {
              const unknown: string[] = [];
              eachField(body, (at, name) => {
                if (!isKnown(name)) unknown.push(at);
                return !free.includes(name);
              });
              return unknown;
            },
          }
        : null,
  };
}

/** Without the difference of `date_sent` and `dateSent`. */
const plain = (name: string): string => name.replaceAll('_', '').toLowerCase();

/** With `*` for what is filled in, and without slashes at the ends. */
const normalized = (path: string): string =>
  path
    .replace(/^https?:\/\/[^/]+/, '')
    .replaceAll(/\$?\{[^}]*\}\}?/g, '*')
    .replaceAll(/:\w+|%\w/g, '*')
    .replaceAll(/^\/+|\/+$/g, '');

/** Segments that a client has in its base address. */
const isBase = (segment: string): boolean => /^(api|api\.xro|rest|crm|v\d|\d+(\.\d+)?|\d{4}-\d\d-\d\d)$/.test(segment);

/** A concrete path with `*` for any of its segments but the first and, below a base address, without that. */
function waysToWrite(path: string): readonly string[] {
  const segments = path.split('/').filter((segment) => segment !== '');
  const rests = segments.flatMap((_, start) => (segments.slice(0, start).every(isBase) ? [segments.slice(start)] : []));
  return rests.flatMap((rest) =>
    Array.from({ length: 2 ** rest.length }, (_, bits) =>
      rest.map((segment, index) => ((bits >> index) & 1 ? '*' : segment)).join('/'),
    ).filter((way) => /\w/.test(way) && !way.startsWith('*')),
  );
}

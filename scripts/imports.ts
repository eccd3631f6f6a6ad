import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, sep } from 'node:path';

const importPattern = /(?:^\s*(?:import|export)\b[^;'"]*?\bfrom\s+|^\s*import\s+|\bimport\()'(?<path>\.[^']+)'/gm;

/** What each source file imports of the tree, types and `await import()` included; paths from `root`, with `/`. Tests do not count. */
export function importsOfTree(root: string): ReadonlyMap<string, readonly string[]> {
  const files = globSync('{src,db,activities,workflows}/**/*.ts', { cwd: root })
    .map(withSlashes)
    .filter((file) => !/\.test\.ts$|-fixture\.ts$|\.gen\.ts$/.test(file));
  return new Map(files.map((file) => [file, importsOf(root, file)]));
}

const importsOf = (root: string, file: string): readonly string[] =>
  [...readFileSync(join(root, file), 'utf8').matchAll(importPattern)].map(({ groups }) =>
    withSlashes(normalize(join(dirname(file), groups?.['path'] ?? ''))),
  );

const withSlashes = (path: string): string => path.split(sep).join('/');

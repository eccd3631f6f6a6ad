import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, sep } from 'node:path';

const importPattern = /(?:^\s*(?:import|export)\b[^;'"]*?\bfrom\s+|^\s*import\s+|\bimport\()'(?<path>\.[^']+)'/gm;

/** Includes types and `await import()`; paths are from `root`, with `/`. */
export type Imports = ReadonlyMap<string, readonly string[]>;

/** Without tests. */
export function importsOfService(root: string): Imports {
  const files = [...importsOfTree(root)].filter(
    ([file]) => /^(?:src|db|activities|workflows)\//.test(file) && !/\.test\.ts$|-fixture\.ts$/.test(file),
  );
  return new Map(files);
}

export function importsOfTree(root: string): Imports {
  const files = globSync('{src,db,activities,workflows,test,bench,scripts}/**/*.ts', { cwd: root })
    .map(withSlashes)
    .filter((file) => !file.endsWith('.gen.ts'));
  return new Map(files.map((file) => [file, importsOf(root, file)]));
}

const importsOf = (root: string, file: string): readonly string[] =>
  [...readFileSync(join(root, file), 'utf8').matchAll(importPattern)].map(({ groups }) =>
    withSlashes(normalize(join(dirname(file), groups?.['path'] ?? ''))),
  );

const withSlashes = (path: string): string => path.split(sep).join('/');

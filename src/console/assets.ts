import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Handler } from 'hono';

const types = {
  'console.css': 'text/css; charset=utf-8',
  'console.js': 'text/javascript; charset=utf-8',
  'favicon.svg': 'image/svg+xml',
} as const;
type Asset = keyof typeof types;

const read = (name: string): string => readFileSync(new URL(`static/${name}`, import.meta.url), 'utf8');

/** Served as one file, in order of their dependencies. */
const scriptFiles = ['times', 'refresh', 'forms', 'editor', 'find'];

const contents: Readonly<Record<Asset, string>> = {
  'console.css': ['base', 'parts', 'pages'].map((name) => read(`${name}.css`)).join('\n'),
  'console.js': `(() => {\n'use strict';\n${scriptFiles.map((name) => read(`${name}.js`)).join('\n')}})();\n`,
  'favicon.svg': read('favicon.svg'),
};

const versionOf = (name: Asset): string => createHash('sha256').update(contents[name]).digest('base64url').slice(0, 12);

/** The path changes with the content, so browsers may cache the file for ever. */
export const assetPath = (name: Asset): string => `/console/assets/${versionOf(name)}/${name}`;

export const assets: readonly (readonly [path: string, serve: Handler])[] = (Object.keys(types) as Asset[]).map(
  (name) => [
    assetPath(name),
    (c) =>
      c.body(contents[name], 200, {
        'content-type': types[name],
        'cache-control': 'public, max-age=31536000, immutable',
      }),
  ],
);

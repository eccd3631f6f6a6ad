/**
 * The API reference: a page that shows the OpenAPI document. All of it is local, including Scalar's published script in
 * this folder.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import type { Context, Hono } from 'hono';
import type { ApiEnv } from '../serve-route.ts';
import manifest from './scalar.json' with { type: 'json' };

const referencePath = '/api/reference';

const read = (name: string): Buffer<ArrayBuffer> => readFileSync(new URL(name, import.meta.url));
const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex').slice(0, 16);

/** Compressed by `scripts/vendor-reference.ts`. */
const scalar = read(`scalar-${manifest.version}.js.gz`);
const boot = read('page.js');
const scalarPath = `${referencePath}/scalar-${hashOf(scalar)}.js`;
const bootPath = `${referencePath}/page-${hashOf(boot)}.js`;

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>API reference</title>
<link rel="icon" href="data:,">
</head>
<body>
<div id="reference"></div>
<script src="${relative(scalarPath)}"></script>
<script src="${relative(bootPath)}"></script>
</body>
</html>
`;

/** Scripts and data come from here only. Scalar puts its styles into the page. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const script = {
  'content-type': 'text/javascript; charset=utf-8',
  // Another script has another address.
  'cache-control': 'public, max-age=31536000, immutable',
  vary: 'accept-encoding',
};

/** For clients that do not accept gzip; absent until the first one. */
let plain: Buffer<ArrayBuffer> | undefined;

export function serveReference(app: Hono<ApiEnv>): void {
  app.get(referencePath, (c) =>
    c.body(page, 200, {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': policy,
      'cache-control': 'no-cache',
    }),
  );
  app.get(bootPath, (c) => c.body(boot, 200, script));
  app.get(scalarPath, (c) =>
    acceptsGzip(c)
      ? c.body(scalar, 200, { ...script, 'content-encoding': 'gzip' })
      : c.body((plain ??= gunzipSync(scalar)), 200, script),
  );
}

/** Relative to the page, so that it also works below a proxy's own path. */
function relative(path: string): string {
  return path.slice(referencePath.lastIndexOf('/') + 1);
}

const acceptsGzip = (c: Context): boolean =>
  /(^|[\s,])gzip(?!\s*;\s*q=0(\.0*)?\s*(,|$))/.test(c.req.header('accept-encoding') ?? '');

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import type { Handler } from 'hono';

/** Outside `/api`, as it is not part of the versioned interface. */
export const widgetPath = '/embed/freshness.js';

/** In order of their dependencies. */
const parts = ['words', 'look', 'parts', 'connector-freshness'];

/** One classic script, which loads across origins without CORS; the function keeps its names out of the page. */
const script = `(() => {\n'use strict';\n${parts.map(readPart).join('\n')}})();\n`;
const packed = gzipSync(script);
const etag = `"${createHash('sha256').update(script).digest('base64url')}"`;

const headers = {
  'content-type': 'text/javascript; charset=utf-8',
  // Browsers revalidate after an hour, so a new version reaches every page the same day.
  'cache-control': 'public, max-age=3600',
  vary: 'accept-encoding',
  'cross-origin-resource-policy': 'cross-origin',
  etag,
};

export const serveWidget: Handler = (c) => {
  if (isKnown(c.req.header('if-none-match') ?? '')) return c.body(null, 304, headers);
  return takesGzip(c.req.header('accept-encoding') ?? '')
    ? c.body(packed, 200, { ...headers, 'content-encoding': 'gzip' })
    : c.body(script, 200, headers);
};

const takesGzip = (accepted: string): boolean => /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(accepted);

/** Weak comparison (RFC 9110, 13.1.2): a proxy that compresses weakens the tag. */
const isKnown = (ifNoneMatch: string): boolean =>
  ifNoneMatch.split(',').some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag);

function readPart(name: string): string {
  return readFileSync(new URL(`../embed-widget/${name}.js`, import.meta.url), 'utf8');
}

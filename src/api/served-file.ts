import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import type { Handler } from 'hono';

interface ServedFile {
  readonly content: string;
  readonly type: string;
  /** Whether pages of other origins may load it. */
  readonly isForOthers: boolean;
}

/** A file of the service for browsers, outside `/api`: without a key, packed, and sent again only when it has changed. */
export function serveFile({ content, type, isForOthers }: ServedFile): Handler {
  const packed = gzipSync(content);
  const etag = `"${createHash('sha256').update(content).digest('base64url')}"`;
  const headers = {
    'content-type': `${type}; charset=utf-8`,
    // Browsers revalidate after an hour, so a new version reaches every page the same day.
    'cache-control': 'public, max-age=3600',
    vary: 'accept-encoding',
    ...(isForOthers ? { 'cross-origin-resource-policy': 'cross-origin' } : {}),
    etag,
  };
  return (c) => {
    if (isKnown(c.req.header('if-none-match') ?? '', etag)) return c.body(null, 304, headers);
    return takesGzip(c.req.header('accept-encoding') ?? '')
      ? c.body(packed, 200, { ...headers, 'content-encoding': 'gzip' })
      : c.body(content, 200, headers);
  };
}

const takesGzip = (accepted: string): boolean => /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(accepted);

/** Weak comparison (RFC 9110, 13.1.2): a proxy that compresses weakens the tag. */
const isKnown = (ifNoneMatch: string, etag: string): boolean =>
  ifNoneMatch.split(',').some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag);

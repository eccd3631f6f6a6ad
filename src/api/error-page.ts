import { readFileSync } from 'node:fs';
import type { Handler } from 'hono';

/** Path of the page about errors; needs no key. */
export const errorPagePath = '/api/errors.md';

const page = readFileSync(new URL('../../docs/connectors/errors.md', import.meta.url), 'utf8');

export const serveErrorPage: Handler = (c) => c.body(page, 200, { 'content-type': 'text/plain; charset=utf-8' });

export const linkToHelp = (code: string | undefined): string =>
  `<${errorPagePath}#${code ?? 'without-a-code'}>; rel="help"`;

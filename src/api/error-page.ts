import { readFileSync } from 'node:fs';
import type { Handler } from 'hono';

/** Where the page about errors is served, without a key. */
export const errorPagePath = '/api/errors.md';

const page = readFileSync(new URL('../../docs/connectors/errors.md', import.meta.url), 'utf8');

/** Serves the page about errors, as a text that browsers show. */
export const serveErrorPage: Handler = (c) => c.body(page, 200, { 'content-type': 'text/plain; charset=utf-8' });

/** The header `Link` of an error response: the part of the page about its code. */
export const linkToHelp = (code: string | undefined): string =>
  `<${errorPagePath}#${code ?? 'without-a-code'}>; rel="help"`;

/** The page of a connect session, its files, and the widget that shows it in other pages. */
import { readFileSync } from 'node:fs';
import type { Context, Handler, Hono } from 'hono';
import { findAllowedOrigins } from '../../db/queries/connect-sessions/sessions.ts';
import words from '../connect-page/words.json' with { type: 'json' };
import { isId } from '../core/ids.ts';
import type { Deps } from '../deps.ts';
import type { ApiEnv } from './serve-route.ts';
import { serveFile } from './served-file.ts';

const read = (name: string): string => readFileSync(new URL(`../${name}`, import.meta.url), 'utf8');

/** One classic script; comments are for those who read the source. */
const scriptOf = (parts: readonly string[]): string => {
  const script = parts.join('\n').replaceAll(/^ *\/\*\*[\s\S]*?\*\/\n/gm, '');
  return `(() => {\n'use strict';\n${script}})();\n`;
};

/** In order of their dependencies. */
const pageParts = ['session', 'elements', 'fields', 'page'].map((name) => read(`connect-page/${name}.js`));

const languages = Object.keys(words) as readonly (keyof typeof words)[];

/** A browser loads the texts of its language only. */
const pageScriptIn = (lang: keyof typeof words): string =>
  scriptOf([`const text = ${JSON.stringify(words[lang])};`, ...pageParts]);

const javaScript = 'text/javascript';
const files: readonly (readonly [path: string, serve: Handler])[] = [
  [
    '/embed/connect.js',
    serveFile({ content: scriptOf([read('embed-widget/connector-connect.js')]), type: javaScript, isForOthers: true }),
  ],
  ...languages.map((lang) => {
    const served = serveFile({ content: pageScriptIn(lang), type: javaScript, isForOthers: false });
    return [`/embed/connect/page.${lang}.js`, served] as const;
  }),
  [
    '/embed/connect/page.css',
    serveFile({ content: read('connect-page/page.css'), type: 'text/css', isForOthers: false }),
  ],
];

/** The same for every session; the script brings all that differs. */
const pageIn = (lang: string): string => `<!doctype html>
<html lang="${lang}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>Connect</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="../embed/connect/page.css">
<script src="../embed/connect/page.${lang}.js" defer></script>
</head>
<body><noscript>Please turn on JavaScript to connect.</noscript></body>
</html>
`;

/** The first that the page knows of the one that is asked for and those of the browser. */
function languageOf(c: Context): string {
  const accepted = (c.req.header('accept-language') ?? '').split(',');
  const wanted = [c.req.query('lang') ?? '', ...accepted].map((one) => one.trim().slice(0, 2).toLowerCase());
  return wanted.find((one) => languages.some((lang) => lang === one)) ?? 'en';
}

export function serveConnectPage(app: Hono<ApiEnv>, deps: Pick<Deps, 'db'>): void {
  for (const [path, serve] of files) app.get(path, serve);
  app.get('/connect/:id', async (c) => {
    const id = c.req.param('id');
    const allowed = isId('cse', id) ? await findAllowedOrigins(deps.db, id) : [];
    return respond(c, allowed);
  });
}

function respond(c: Context<ApiEnv>, allowed: readonly string[]): Response {
  // `frame-ancestors` says more than this header can.
  c.header('x-frame-options', undefined);
  return c.body(pageIn(languageOf(c)), 200, {
    vary: 'accept-language',
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policyFor(allowed),
    'referrer-policy': 'no-referrer',
    // The window for the provider is closed by itself at the end, so it stays the one that was opened.
    'cross-origin-opener-policy': 'unsafe-none',
  });
}

const policyFor = (allowed: readonly string[]): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    'img-src data:',
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    `frame-ancestors ${allowed.length === 0 ? "'none'" : allowed.join(' ')}`,
  ].join('; ');

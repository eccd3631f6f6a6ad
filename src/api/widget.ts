import { readFileSync } from 'node:fs';
import { serveFile } from './served-file.ts';

/** Outside `/api`, as it is not part of the versioned interface. */
export const widgetPath = '/embed/freshness.js';

/** In order of their dependencies. */
const parts = ['words', 'look', 'parts', 'connector-freshness'];

/** One classic script, which loads across origins without CORS; the function keeps its names out of the page. */
const script = `(() => {\n'use strict';\n${parts.map(readPart).join('\n')}})();\n`;

export const serveWidget = serveFile({ content: script, type: 'text/javascript', isForOthers: true });

function readPart(name: string): string {
  return readFileSync(new URL(`../embed-widget/${name}.js`, import.meta.url), 'utf8');
}

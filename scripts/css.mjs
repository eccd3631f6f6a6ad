#!/usr/bin/env node
/** The program `css`: passes on the caller's folder, because the launcher changes it. */
process.env.CSS_CALLED_FROM = process.cwd();
process.argv.splice(2, 0, 'src/css.ts');
await import('./run.mjs');

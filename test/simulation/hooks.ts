/**
 * Puts the parties of a simulation in the place of the real ones: modules of Temporal, of the control database, of the
 * customer's systems and of the clock. All others are the real ones, unchanged, unless a bug is planted.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { Plant } from './plants.ts';

const here = new URL('./', import.meta.url);
const root = new URL('../../', here);

/** Modules of the tree, from its root. */
const replacedFiles: ReadonlyMap<string, string> = new Map([
  ...readdirSync(new URL('memory/', here), { recursive: true, encoding: 'utf8' })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => file.endsWith('.ts') && !file.startsWith('store/'))
    .map((file) => [`db/queries/runs/${file}`, `memory/${file}`] as const),
  ['db/queries/connections/connections.ts', 'memory/connections.ts'],
  ['db/queries/specs.ts', 'memory/specs.ts'],
  ['src/core/destinations/webhook/client.ts', 'stand-ins/webhook-client.ts'],
  ['src/core/ids.ts', 'stand-ins/ids.ts'],
  ['src/connect/open-source.ts', 'stand-ins/open-source.ts'],
  ['src/connect/open-destination.ts', 'stand-ins/open-destination.ts'],
  ['src/dispatch/wake-endpoints.ts', 'stand-ins/wake-endpoints.ts'],
  ['activities/run-setup.ts', 'stand-ins/run-setup.ts'],
]);

/** Modules by name, in code of the tree. */
const replacedNames: ReadonlyMap<string, string> = new Map([
  ['@temporalio/workflow', 'stand-ins/temporal-workflow.ts'],
  ['@temporalio/activity', 'stand-ins/temporal-activity.ts'],
  ['node:timers/promises', 'stand-ins/timers-promises.ts'],
]);

const isOfTree = (url: string | undefined): boolean =>
  url?.startsWith(root.href) === true && !url.startsWith(here.href) && !url.includes('/node_modules/');

/** Registers the replacements; called once, before the engine is loaded. Throws for a plant that finds no place. */
export function installParties(plant: Plant | null): void {
  registerHooks({
    resolve(specifier, context, next) {
      if (isOfTree(context.parentURL)) {
        const name = replacedNames.get(specifier);
        if (name !== undefined) return { url: new URL(name, here).href, shortCircuit: true };
      }
      const resolved = next(specifier, context);
      const path = resolved.url.startsWith(root.href) ? resolved.url.slice(root.href.length) : null;
      const file = path === null || context.parentURL?.startsWith(here.href) ? undefined : replacedFiles.get(path);
      return file === undefined ? resolved : { url: new URL(file, here).href, shortCircuit: true };
    },
    load(url, context, next) {
      if (plant === null || url !== new URL(plant.file, root).href) return next(url, context);
      const source = readFileSync(fileURLToPath(url), 'utf8');
      if (!source.includes(plant.code)) throw new Error(`${plant.file} has no place for the bug "${plant.name}"`);
      return { format: 'module-typescript', source: source.replace(plant.code, plant.bug), shortCircuit: true };
    },
  });
}

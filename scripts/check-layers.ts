/**
 * The floors of `src/core` and `db/queries/runs`: a file imports from its own floor and from those below it, types included,
 * and no circle of imports exists anywhere. Part of `npm run check`.
 */
import { importsOfTree } from './imports.ts';

/** Rooms of each folder from the lowest to the highest; `` are the files that lie in the folder itself. */
const folders: Readonly<Record<string, readonly string[]>> = {
  'src/core': [
    '',
    'json',
    'resources',
    'crypto',
    'time',
    'schedule',
    'json-schema',
    'expressions',
    'spec',
    'model',
    'http',
    'source',
    'pipeline',
    'destinations',
    'run',
    'memory-run',
    'spec-tests',
    'import',
    'hooks',
    'events',
    'deliveries',
  ],
  'db/queries/runs': ['records', 'batches', '', 'lanes', 'maintenance'],
};

/** What is wrong with the imports of the tree, a sentence each; empty when nothing is. */
export function checkLayers(root: string): readonly string[] {
  const imports = importsOfTree(root);
  const upward = [...imports].flatMap(([file, targets]) =>
    targets.filter((target) => isAbove(target, file)).map((target) => `${file} imports ${target} of a floor above it.`),
  );
  return [...upward, ...circles(imports).map((circle) => `These files import each other: ${circle.join(', ')}.`)];
}

function isAbove(target: string, file: string): boolean {
  const [from, to] = [placeOf(file), placeOf(target)];
  return from !== null && to !== null && from.folder === to.folder && to.floor > from.floor;
}

/** Null: a file of no folder that has floors. Throws for a room that has none. */
function placeOf(file: string): { readonly folder: string; readonly floor: number } | null {
  const folder = Object.keys(folders).find((one) => file.startsWith(`${one}/`));
  if (folder === undefined) return null;
  const parts = file.slice(folder.length + 1).split('/');
  const room = parts.length > 1 ? (parts[0] ?? '') : '';
  const floor = folders[folder]?.indexOf(room) ?? -1;
  if (floor === -1) throw new Error(`${folder}/${room} has no floor. Give it one in scripts/check-layers.ts.`);
  return { folder, floor };
}

/** Groups of files that reach each other (strongly connected components of two files or more, by Tarjan's algorithm). */
function circles(imports: ReadonlyMap<string, readonly string[]>): readonly (readonly string[])[] {
  const found: string[][] = [];
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const open: string[] = [];
  const visit = (file: string): number => {
    order.set(file, order.size);
    lowest.set(file, order.size - 1);
    open.push(file);
    for (const target of imports.get(file) ?? []) {
      if (!imports.has(target)) continue;
      const reached = order.has(target) ? (open.includes(target) ? (order.get(target) ?? 0) : Infinity) : visit(target);
      lowest.set(file, Math.min(lowest.get(file) ?? 0, reached));
    }
    if (lowest.get(file) === order.get(file)) {
      const group = open.splice(open.indexOf(file));
      if (group.length > 1) found.push(group);
    }
    return lowest.get(file) ?? 0;
  };
  for (const file of imports.keys()) if (!order.has(file)) visit(file);
  return found;
}

/**
 * Checks `scripts/layer-rules.ts`, types included. A room imports only from its row, and a file in a layer only from
 * that layer and lower ones. Circular imports are refused everywhere, also in tests, benchmarks and scripts. Part of
 * `npm run check`.
 */
import { type Imports, importsOfService, importsOfTree } from './imports.ts';
import { layers, roomImports } from './layer-rules.ts';

/** Violations, one sentence each. */
export function checkLayers(root: string): readonly string[] {
  const imports = importsOfService(root);
  const upward = [...imports].flatMap(([file, targets]) =>
    targets.filter((target) => isAbove(target, file)).map((target) => `${file} imports ${target} of a layer above it.`),
  );
  const astray = [...imports].flatMap(([file, targets]) =>
    targets.filter((target) => !mayImport(file, target)).map((target) => `${file} imports ${target}: ${ruleOf(file)}`),
  );
  return [
    ...astray,
    ...upward,
    ...circles(importsOfTree(root)).map((circle) => `These files import each other: ${circle.join(', ')}.`),
  ];
}

function mayImport(file: string, target: string): boolean {
  const [from, to] = [roomOf(file), roomOf(target)];
  const allowed = rowOf(from);
  return from === to || allowed === 'everything' || allowed.includes(to);
}

function ruleOf(file: string): string {
  const allowed = rowOf(roomOf(file));
  return `${roomOf(file)} may import ${allowed.length === 0 ? 'only itself' : `only ${String(allowed).replaceAll(',', ', ')}`}.`;
}

/** Throws for a room without a row. */
function rowOf(room: string): readonly string[] | 'everything' {
  const row = roomImports[room];
  if (row === undefined) throw new Error(`${room} has no row. Give it one in scripts/layer-rules.ts.`);
  return row;
}

/** `src/api`, `src/log.ts`, `db`; a file outside of all rooms stands for itself. */
function roomOf(file: string): string {
  const [top = '', second = ''] = file.split('/');
  if (top === 'src') return `${top}/${second}`;
  return ['db', 'activities', 'workflows'].includes(top) ? top : file;
}

function isAbove(target: string, file: string): boolean {
  const [from, to] = [placeOf(file), placeOf(target)];
  return from !== null && to !== null && from.folder === to.folder && to.layer > from.layer;
}

/** `null` for a file outside of layered folders; throws for a room without a layer. */
function placeOf(file: string): { readonly folder: string; readonly layer: number } | null {
  const folder = Object.keys(layers).find((one) => file.startsWith(`${one}/`));
  if (folder === undefined) return null;
  const parts = file.slice(folder.length + 1).split('/');
  const room = parts.length > 1 ? (parts[0] ?? '') : '';
  const layer = layers[folder]?.indexOf(room) ?? -1;
  if (layer === -1) throw new Error(`${folder}/${room} has no layer. Give it one in scripts/layer-rules.ts.`);
  return { folder, layer };
}

/** By Tarjan's algorithm. */
function circles(imports: Imports): readonly (readonly string[])[] {
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

import { isJsonObject } from '../../../json/is-json-object.ts';
import { refuse } from '../refusal.ts';
import { joined, type Origins } from './origins.ts';

/** Values that one stream may grow to, references resolved; real ones have some hundred to some thousand. */
const streamNodesMax = 60_000;
const allNodesMax = 3_000_000;
const depthMax = 120;

/** Only `resolveSchema` reads these: schemas are large, and most of the importer does not need them. */
const unread: ReadonlySet<string> = new Set(['schema_loader', 'schema', 'schemas']);

export interface Resolver {
  /** Throws `Refusal` at an unknown or circular reference, or when the value grows too large. */
  resolve(value: unknown, path: string): unknown;
  resolveSchema(value: unknown, path: string): unknown;
}

/**
 * As in the CDK, a text `#/a/b` is replaced by the value there, and an object with `$ref` takes the values there that
 * it lacks. Bounded in depth, size and total work.
 */
export function createResolver(manifest: Readonly<Record<string, unknown>>, origins: Origins): Resolver {
  let all = 0;
  const resolving =
    (schemas: boolean) =>
    (value: unknown, path: string): unknown => {
      let nodes = 0;
      const count = (at: string): void => {
        nodes += 1;
        all += 1;
        if (nodes > streamNodesMax) refuse(at, `its references expand to more than ${streamNodesMax} values`);
        if (all > allNodesMax) refuse(at, 'the references of the manifest expand to too many values');
      };
      return evaluate(value, { manifest, origins, count, schemas, path, depth: 0, open: new Set() });
    };
  return { resolve: resolving(false), resolveSchema: resolving(true) };
}

interface Place {
  readonly manifest: Readonly<Record<string, unknown>>;
  readonly origins: Origins;
  readonly count: (at: string) => void;
  readonly schemas: boolean;
  readonly path: string;
  readonly depth: number;
  /** References being resolved, to find cycles. */
  readonly open: ReadonlySet<string>;
}

function evaluate(node: unknown, place: Place): unknown {
  place.count(place.path);
  if (place.depth > depthMax) refuse(place.path, `nests deeper than ${depthMax} levels`);
  if (Array.isArray(node)) return evaluateList(node, place);
  if (isJsonObject(node)) return evaluateObject(node, place);
  return typeof node === 'string' && node.startsWith('#/') ? follow(node, place) : node;
}

const inside = (place: Place, key: string): Place => ({
  ...place,
  path: joined(place.path, key),
  depth: place.depth + 1,
});

function evaluateList(list: readonly unknown[], place: Place): unknown[] {
  const result = list.map((item, index) => evaluate(item, inside(place, String(index))));
  place.origins.note(result, place.path);
  return result;
}

function evaluateObject(node: Readonly<Record<string, unknown>>, place: Place): unknown {
  const own: [string, unknown][] = Object.entries(node)
    .filter(([key]) => key !== '$ref')
    .map(([key, value]) => [key, !place.schemas && unread.has(key) ? value : evaluate(value, inside(place, key))]);
  if (!Object.hasOwn(node, '$ref')) return noted(own, place, new Map());
  const referred = evaluate(node['$ref'], inside(place, '$ref'));
  if (!isJsonObject(referred)) return referred;
  const { origins } = place;
  const overridden = new Set(own.map(([key]) => key));
  const elsewhere = Object.keys(referred)
    .filter((key) => !overridden.has(key))
    .map((key): [string, string] => [key, origins.pathAt(referred, key)]);
  return noted([...Object.entries(referred), ...own], place, new Map(elsewhere));
}

function noted(
  entries: readonly (readonly [string, unknown])[],
  { origins, path }: Place,
  keys: ReadonlyMap<string, string>,
): Record<string, unknown> {
  const result = Object.fromEntries(entries);
  origins.note(result, path, keys);
  return result;
}

function follow(reference: string, place: Place): unknown {
  if (place.open.has(reference)) refuse(place.path, `the reference ${shown(reference)} leads to itself`);
  const target = lookUp(reference, place);
  return evaluate(target.value, {
    ...place,
    path: target.path,
    depth: place.depth + 1,
    open: new Set([...place.open, reference]),
  });
}

/** A key may contain `/`, so the whole rest of the path is tried first, as in the CDK. */
function lookUp(reference: string, place: Place): { readonly value: unknown; readonly path: string } {
  let node: unknown = place.manifest;
  let path = '';
  let rest = reference.slice(2);
  while (rest !== '') {
    const whole = childOf(node, rest);
    if (whole !== undefined) return { value: whole, path: joined(path, rest) };
    const slash = rest.indexOf('/');
    const head = slash === -1 ? rest : rest.slice(0, slash);
    node = childOf(node, head);
    if (node === undefined || slash === -1) refuse(place.path, `nothing is at the reference ${shown(reference)}`);
    path = joined(path, head);
    rest = rest.slice(slash + 1);
  }
  return { value: node, path };
}

function childOf(node: unknown, key: string): unknown {
  if (Array.isArray(node)) return /^\d{1,6}$/.test(key) ? node[Number(key)] : undefined;
  return isJsonObject(node) && Object.hasOwn(node, key) ? node[key] : undefined;
}

const shown = (reference: string): string => JSON.stringify(reference.slice(0, 200));

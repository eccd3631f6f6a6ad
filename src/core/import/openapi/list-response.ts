import { Refusal } from '../refusal.ts';
import type { OpenapiDocument } from './document.ts';
import { literalsOf, plainName } from './names.ts';
import type { Operation } from './operations.ts';
import { hasPosition, tellsOfPages } from './page-names.ts';
import type { ReadShape, Shape } from './shape.ts';

export interface FoundList {
  readonly records: string;
  readonly item: unknown;
  readonly body: Shape;
  /** HAL omits an empty `_embedded`. */
  readonly mayBeMissing: boolean;
}

const pathLengthMax = 1000;
/** Names under which APIs keep their records, in order of preference. */
const envelopes = [
  'data',
  'items',
  'results',
  'records',
  'values',
  'value',
  'entries',
  'objects',
  'rows',
  'list',
  'content',
  'elements',
  'resources',
  'hits',
];
/** Objects around the records. */
const wrappers = new Set([
  'data',
  'result',
  'results',
  'response',
  'payload',
  'body',
  'embedded',
  'hits',
  'list',
  'page',
]);
/** Lists beside the records. */
const besides = new Set([
  'included',
  'errors',
  'warnings',
  'links',
  'messages',
  'meta',
  'facets',
  'filters',
  'aggregations',
  'includes',
  'notices',
]);

interface Candidate {
  readonly path: readonly string[];
  readonly item: unknown;
  readonly list: Shape;
}

/**
 * The list in the response of an operation; `null` for a single object, or without JSON. Throws a {@link Refusal} for a
 * list that cannot be read.
 */
export function findList(
  operation: Operation,
  { read, document }: { readonly read: ReadShape; readonly document: OpenapiDocument },
): FoundList | null {
  const { response, path } = operation;
  const endsInParameter = path.length <= pathLengthMax && /\}[^/]*$/.test(path);
  const positions = operation.parameters.some((parameter) => parameter.in === 'query' && hasPosition(parameter.name));
  if (path.length > pathLengthMax) throw new Refusal(`its path is longer than ${pathLengthMax} characters`);
  if (response.kind === 'none') return null;
  if (document.resolve(response.schema) === undefined && response.kind !== 'unknown') {
    throw new Refusal('the schema of its response is not in the document');
  }
  if (response.kind === 'foreign') {
    if (!read(response.schema).types.has('array')) return null;
    throw new Refusal('its response is no JSON');
  }
  if (response.kind === 'unknown') {
    if (endsInParameter && !positions) return null;
    throw new Refusal('its response has no schema: whether it is a list, and of what, cannot be told');
  }
  const body = read(response.schema);
  if (body.types.has('array')) return { ...listAt(operation, { path: [], item: body.items, list: body }, read), body };
  if (body.properties.size === 0) {
    if (!positions) return null;
    throw new Refusal('the schema of its response names no properties: where its records are cannot be told');
  }
  document.spend(body.properties.size);
  if (endsInParameter && !positions) return null;
  const candidates = listsIn(body, read);
  const chosen = choose(candidates, path);
  // A single object may have a list too; fields beside real records only describe their pages.
  const others = [...body.properties.keys()].filter((name) => name !== chosen?.candidate.path[0]);
  const isOnlyList = others.every((name) => tellsOfPages(name) || besides.has(plainName(name)));
  if (chosen !== null && (positions || chosen.isNamed || isOnlyList)) {
    return { ...listAt(operation, chosen.candidate, read), body };
  }
  if (candidates.length > 1 && positions) {
    const names = candidates.map((candidate) => candidate.path.join('.')).slice(0, 5);
    throw new Refusal(
      `its response has several lists (${names.join(', ')}): which of them are the records cannot be told`,
    );
  }
  return null;
}

function listAt({ path: address }: Operation, { path, item }: Candidate, read: ReadShape): Omit<FoundList, 'body'> {
  const shape = read(item);
  if (!shape.types.has('object')) {
    const what = shape.types.size === 0 ? 'without a schema' : `of type ${[...shape.types].join(' or ')}`;
    throw new Refusal(`the items of ${path.join('.') || address} are ${what}: a record is an object`);
  }
  return { records: path.length === 0 ? '$' : path.join('.'), item, mayBeMissing: path[0] === '_embedded' };
}

function listsIn(body: Shape, read: ReadShape): readonly Candidate[] {
  return [...body.properties].flatMap(([name, schema]) => {
    if (!isSelectable(name)) return [];
    const shape = read(schema);
    if (isRecords(name, shape, read)) return [{ path: [name], item: shape.items, list: shape }];
    if (!wrappers.has(plainName(name)) || shape.types.has('array')) return [];
    return [...shape.properties].flatMap(([inner, within]) => {
      const list = read(within);
      return isSelectable(inner) && isRecords(inner, list, read)
        ? [{ path: [name, inner], item: list.items, list }]
        : [];
    });
  });
}

const isSelectable = (name: string): boolean => /^[A-Za-z0-9_@][A-Za-z0-9_@-]{0,99}$/.test(name);

const isRecords = (name: string, shape: Shape, read: ReadShape): boolean =>
  shape.types.has('array') && !besides.has(plainName(name)) && read(shape.items).types.has('object');

interface Choice {
  readonly candidate: Candidate;
  /** Chosen by its name, and not only as the only list. */
  readonly isNamed: boolean;
}

function choose(candidates: readonly Candidate[], path: string): Choice | null {
  const last = plainName(literalsOf(path).at(-1) ?? '');
  const nameOf = ({ path: steps }: Candidate): string => plainName(steps.at(-1) ?? '');
  const named =
    candidates.find((candidate) => nameOf(candidate) === last) ??
    envelopes.flatMap((name) => candidates.filter((candidate) => nameOf(candidate) === name))[0];
  if (named !== undefined) return { candidate: named, isNamed: true };
  const [only, another] = candidates;
  return only !== undefined && another === undefined ? { candidate: only, isNamed: false } : null;
}

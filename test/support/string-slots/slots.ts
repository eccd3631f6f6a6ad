import type * as v from 'valibot';
import { isJsonObject } from '../../../src/core/json/is-json-object.ts';
import { ConnectorSpec } from '../../../src/core/spec/schema/spec-schema.ts';

/** A place of a document where its schema takes any text, or any text of a form. */
export interface Slot {
  /** The same for all places with the same rule, such as `http.baseUrl` or `auth<jwt>.key`. */
  readonly name: string;
  /** Keys and positions from the document's root. */
  readonly path: readonly (string | number)[];
  /** The text is the name of the property, not its value. */
  readonly isKey: boolean;
}

/** The parts of a valibot schema that the walk looks at. */
interface Node {
  readonly type: string;
  readonly wrapped?: Node;
  readonly item?: Node;
  readonly key?: string | Node;
  readonly value?: Node;
  readonly options?: readonly Node[];
  readonly entries?: Readonly<Record<string, Node>>;
  readonly literal?: unknown;
  readonly getter?: (input: unknown) => Node;
}

const root = ConnectorSpec as v.GenericSchema as unknown as Node;

/** By the entries of an object schema, the name of the slot at each of its properties. One part used twice is one. */
const namesOfSlots = new Map<object, Map<string, string>>();

/** The names of all places that the schema of a ConnectorSpec has for text. */
export const slotsOfSchema: ReadonlySet<string> = new Set(nameSlots(root, ''));

/** The places of a valid document that hold text. A choice of fixed words is none. */
export const slotsOf = (document: unknown): readonly Slot[] => [
  ...walk(root, { value: document, path: [], owner: '' }),
];

interface Place {
  readonly value: unknown;
  readonly path: Slot['path'];
  /** The name of the slot, should this be one. */
  readonly owner: string;
}

function* walk(schema: Node, { value, path, owner }: Place): Generator<Slot> {
  const node = unwrapped(schema, value);
  if (node.type === 'string' && typeof value === 'string') yield { name: owner, path, isKey: false };
  if (node.type === 'union') for (const option of node.options ?? []) yield* walk(option, { value, path, owner });
  if (node.type === 'unknown') for (const slot of textsOf(value, owner, path)) yield { ...slot, name: owner };
  if (node.item && Array.isArray(value)) {
    for (const [index, item] of value.entries()) yield* walk(node.item, { value: item, path: [...path, index], owner });
  }
  if (!isJsonObject(value)) return;
  const names = node.entries && namesOfSlots.get(node.entries);
  for (const [key, item] of Object.entries(value)) {
    const at = [...path, key];
    if (node.type === 'record') yield { name: `${owner}{}`, path: at, isKey: true };
    const child = node.entries ? node.entries[key] : node.value;
    if (child) yield* walk(child, { value: item, path: at, owner: names?.get(key) ?? owner });
  }
}

/** All texts of a JSON value; the names of its properties are no slots of their own. */
export function* textsOf(value: unknown, name: string, path: Slot['path'] = []): Generator<Slot> {
  if (typeof value === 'string') yield { name, path, isKey: false };
  if (typeof value !== 'object' || value === null) return;
  for (const [key, item] of Object.entries(value)) yield* textsOf(item, `${name}.${key}`, [...path, key]);
}

/** A copy of the value with another text in the slot. */
export function replaced<Value>(value: Value, { path, isKey }: Pick<Slot, 'path' | 'isKey'>, text: string): Value {
  const copy = structuredClone(value);
  const last = path.at(-1) ?? '';
  // oxlint-disable-next-line typescript/no-explicit-any -- the path was found in this very value
  const parent = path.slice(0, -1).reduce<any>((at, key) => at[key], copy);
  if (!isKey) {
    parent[last] = text;
    return copy;
  }
  const kept = parent[last];
  delete parent[last];
  // As a parser of JSON does: "__proto__" is a name like others.
  Object.defineProperty(parent, text, { value: kept, enumerable: true });
  return copy;
}

/** Names the slots of a schema that is at `owner`, and fills {@link namesOfSlots}. */
function* nameSlots(schema: Node, owner: string): Generator<string> {
  const node = unwrapped(schema, undefined);
  if (node.type === 'string' || node.type === 'unknown') yield owner;
  if (node.type === 'lazy' && node.getter) {
    for (const input of ['', []]) yield* nameSlots(node.getter(input), owner);
  }
  if (node.item) yield* nameSlots(node.item, owner);
  if (node.type === 'union') for (const option of node.options ?? []) yield* nameSlots(option, owner);
  if (node.type === 'variant' && typeof node.key === 'string') {
    for (const option of node.options ?? []) {
      yield* nameSlots(option, `${owner}<${String(option.entries?.[node.key]?.literal)}>`);
    }
  }
  if (node.type === 'record' && node.value) {
    yield `${owner}{}`;
    yield* nameSlots(node.value, owner);
  }
  if (!node.entries || namesOfSlots.has(node.entries)) return;
  const names = new Map<string, string>();
  namesOfSlots.set(node.entries, names);
  for (const [key, child] of Object.entries(node.entries)) {
    const name = owner === '' ? key : `${owner}.${key}`;
    names.set(key, name);
    yield* nameSlots(child, name);
  }
}

/** The schema itself: without what allows it to be absent, and of a choice the part that the value chooses. */
function unwrapped(schema: Node, value: unknown): Node {
  if (schema.wrapped) return unwrapped(schema.wrapped, value);
  if (value === undefined) return schema;
  if (schema.type === 'lazy' && schema.getter) return unwrapped(schema.getter(value), value);
  if (schema.type !== 'variant' || typeof schema.key !== 'string' || !isJsonObject(value)) return schema;
  const { key } = schema;
  const chosen = schema.options?.find((option) => option.entries?.[key]?.literal === value[key]);
  return chosen ? unwrapped(chosen, value) : schema;
}

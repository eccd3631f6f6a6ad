/** A value of a document and its path, dotted with array indexes. */
export interface Located {
  readonly path: string;
  readonly value: unknown;
}

/** Places of requests in a spec, as patterns of {@link valuesAt}. */
export const requestPaths = [
  'auth.login',
  'lookups.*.request',
  'resources.*.request',
  'resources.*.auth.login',
  'resources.*.job.create',
  'resources.*.job.poll',
  'resources.*.enrich.*.request',
  'resources.*.deletes.request',
] as const;

/**
 * Values at a pattern such as `resources.*.request.path`; `*` is each element of a list or value of an object. Absent
 * values and those of another form are left out, so the document need not be valid.
 */
export function valuesAt(document: unknown, pattern: string): readonly Located[] {
  let found: readonly Located[] = [{ path: '', value: document }];
  for (const step of pattern.split('.')) found = found.flatMap((parent) => childrenAt(parent, step));
  return found;
}

/** Every string in a value, at any depth, with its path; keys are not included. */
export function textsIn({ path, value }: Located): readonly (Located & { readonly value: string })[] {
  if (typeof value === 'string') return [{ path, value }];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, child]) => textsIn({ path: join(path, key), value: child }));
}

/**
 * Sorts by place in the document: a value before its contents, properties as written. A missing property comes right
 * after the object that lacks it.
 */
export function inDocumentOrder<Item extends { readonly path: string }>(
  document: unknown,
  items: readonly Item[],
): readonly Item[] {
  const orders: KeyOrders = new Map();
  const placed = items.map((item) => ({ item, position: positionOf(document, item.path, orders) }));
  return placed.sort((a, b) => comparePositions(a.position, b.position)).map(({ item }) => item);
}

const join = (path: string, key: string): string => (path === '' ? key : `${path}.${key}`);

function childrenAt({ path, value }: Located, step: string): readonly Located[] {
  if (typeof value !== 'object' || value === null) return [];
  if (step === '*') return Object.entries(value).map(([key, child]) => ({ path: join(path, key), value: child }));
  const child = property(value, step);
  return child === undefined ? [] : [{ path: join(path, step), value: child }];
}

/** Index of each key per visited object, so that many issues in one large list stay cheap. */
type KeyOrders = Map<object, ReadonlyMap<string, number>>;

function positionOf(document: unknown, path: string, orders: KeyOrders): readonly number[] {
  const position: number[] = [];
  let value = document;
  for (const step of path.split('.')) {
    if (typeof value !== 'object' || value === null) return position;
    const order = orders.get(value) ?? new Map(Object.keys(value).map((key, index) => [key, index]));
    orders.set(value, order);
    position.push(order.get(step) ?? -1);
    value = property(value, step);
  }
  return position;
}

function comparePositions(a: readonly number[], b: readonly number[]): number {
  for (const [depth, index] of a.entries()) {
    const other = b[depth];
    if (other === undefined) return 1;
    if (index !== other) return index - other;
  }
  return a.length - b.length;
}

const property = (value: object, key: string): unknown => Object.getOwnPropertyDescriptor(value, key)?.value;

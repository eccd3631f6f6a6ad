/** Where the values of resolved objects and lists stand in the given document. */
export interface Origins {
  /** Dotted path of an object or list. */
  pathOf(value: object): string;
  /** Dotted path of one value of it. */
  pathAt(value: object, key: string): string;
  /** Notes where an object or list stands, and those of its values that stand elsewhere. */
  note(value: object, path: string, keys?: ReadonlyMap<string, string>): void;
  /** The values of `from` that stand elsewhere. */
  keysOf(from: object): ReadonlyMap<string, string>;
}

interface Origin {
  readonly path: string;
  readonly keys: ReadonlyMap<string, string>;
}

const noKeys: ReadonlyMap<string, string> = new Map();

/** Nothing noted yet. */
export function createOrigins(): Origins {
  const origins = new WeakMap<object, Origin>();
  const pathOf = (value: object): string => origins.get(value)?.path ?? '';
  return {
    pathOf,
    pathAt: (value, key) => origins.get(value)?.keys.get(key) ?? joined(pathOf(value), key),
    note: (value, path, keys = noKeys) => {
      origins.set(value, { path, keys });
    },
    keysOf: (from) => origins.get(from)?.keys ?? noKeys,
  };
}

/** The dotted path of a value in another. */
export const joined = (path: string, key: string): string => (path === '' ? key : `${path}.${key}`);

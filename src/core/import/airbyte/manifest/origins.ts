/** Dotted paths of resolved objects and lists, and of their values, in the given document. */
export interface Origins {
  pathOf(value: object): string;
  pathAt(value: object, key: string): string;
  /** Notes the path of an object or list, and of those of its values that stand elsewhere. */
  note(value: object, path: string, keys?: ReadonlyMap<string, string>): void;
  keysOf(from: object): ReadonlyMap<string, string>;
}

interface Origin {
  readonly path: string;
  readonly keys: ReadonlyMap<string, string>;
}

const noKeys: ReadonlyMap<string, string> = new Map();

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

export const joined = (path: string, key: string): string => (path === '' ? key : `${path}.${key}`);

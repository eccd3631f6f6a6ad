import { isJsonObject } from '../../json/is-json-object.ts';

/** The names that a document declares, read without requiring that it is valid. */
export interface DeclaredNames {
  readonly params: ReadonlySet<string>;
  readonly secrets: ReadonlySet<string>;
  readonly tables: ReadonlySet<string>;
  /** The names of the resources, in the order of `resources`. */
  readonly resources: readonly ResourceNames[];
}

/** The names that one resource declares. */
export interface ResourceNames {
  readonly enrichments: ReadonlySet<string>;
  readonly each: ReadonlySet<string>;
}

/** Collects what expressions may refer to. */
export function declaredNames(document: unknown): DeclaredNames {
  const params = objectsIn(document, 'connectionParams');
  return {
    params: textSet(
      params.filter((param) => param['secret'] !== true),
      'key',
    ),
    secrets: textSet(
      params.filter((param) => param['secret'] === true),
      'key',
    ),
    tables: textSet(objectsIn(document, 'lookups'), 'assignTo'),
    resources: listIn(document, 'resources').map((resource) => ({
      enrichments: textSet(objectsIn(resource, 'enrich'), 'assignTo'),
      each: textSet(objectsIn(resource, 'forEach'), 'as'),
    })),
  };
}

/** The list under a key; empty when there is none. */
export function listIn(value: unknown, key: string): readonly unknown[] {
  const list = isJsonObject(value) ? value[key] : null;
  return Array.isArray(list) ? list : [];
}

/** The objects of the list under a key. */
const objectsIn = (value: unknown, key: string) => listIn(value, key).filter(isJsonObject);

const textSet = (items: readonly Record<string, unknown>[], key: string): ReadonlySet<string> =>
  new Set(items.map((item) => item[key]).filter((text) => typeof text === 'string'));

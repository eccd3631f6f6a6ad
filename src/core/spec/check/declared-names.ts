import { isJsonObject } from '../../json/is-json-object.ts';

/** Names that a document declares; the document need not be valid. */
export interface DeclaredNames {
  readonly params: ReadonlySet<string>;
  readonly secrets: ReadonlySet<string>;
  readonly tables: ReadonlySet<string>;
  /** In the order of `resources`. */
  readonly resources: readonly ResourceNames[];
}

export interface ResourceNames {
  readonly enrichments: ReadonlySet<string>;
  readonly each: ReadonlySet<string>;
}

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

export function listIn(value: unknown, key: string): readonly unknown[] {
  const list = isJsonObject(value) ? value[key] : null;
  return Array.isArray(list) ? list : [];
}

const objectsIn = (value: unknown, key: string) => listIn(value, key).filter(isJsonObject);

const textSet = (items: readonly Record<string, unknown>[], key: string): ReadonlySet<string> =>
  new Set(items.map((item) => item[key]).filter((text) => typeof text === 'string'));

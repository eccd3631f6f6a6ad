import { fields, isRecord, type JsonRecord } from './json.ts';

/** A connection that both engines use. */
export interface Connection {
  /** As the manifest sees it. */
  readonly config: JsonRecord;
  /** As the spec sees it: values by the key of a param. */
  readonly values: ReadonlyMap<string, unknown>;
}

/** A connection with a value for all that the manifest reads; `decided` are values that the import has chosen. */
export function connectionFor(
  manifest: JsonRecord,
  decided: readonly (readonly [path: readonly string[], value: unknown])[],
): Connection {
  const specification = fields(fields(manifest, 'spec'), 'connection_specification');
  const schemas = new Map<string, JsonRecord>();
  collect(specification, [], schemas);
  const config: Record<string, unknown> = {};
  // Names in double quotes are read like those in single ones.
  const text = JSON.stringify(manifest).replaceAll('\\"', "'");
  const paths = new Map([...schemas.keys(), ...pathsIn(text)].map((path) => [path, path.split('.')]));
  for (const [key, path] of paths) {
    if (path.some((_, index) => index > 0 && paths.has(path.slice(0, index).join('.')) && !schemas.has(key))) continue;
    if (!schemas.has(key) && isListIn(text, key)) continue;
    const value = valueFor(path.at(-1) ?? '', schemas.get(key) ?? {});
    if (value !== undefined) setAt(config, path, value);
  }
  for (const [path, value] of decided) setAt(config, path, value);
  const values = new Map<string, unknown>();
  leaves(config, [], values);
  return { config, values };
}

function collect(schema: JsonRecord, path: readonly string[], found: Map<string, JsonRecord>): void {
  for (const [key, value] of Object.entries(fields(schema, 'properties'))) {
    if (!isRecord(value)) continue;
    const inner = [...path, key];
    const isParent = isRecord(value['properties']) || Array.isArray(value['oneOf']) || Array.isArray(value['anyOf']);
    if (isParent) collect(value, inner, found);
    else if (!found.has(inner.join('.'))) found.set(inner.join('.'), value);
  }
  for (const choice of ['oneOf', 'anyOf'].flatMap((name) => schema[name]).filter(isRecord))
    collect(choice, path, found);
}

/** What expressions read of `config`. */
function pathsIn(text: string): readonly string[] {
  const pattern = /\bconfig((?:\.get\(\s*'\w+'[^)]*\)|\['\w+'\]|\.(?!get\b|keys\b|items\b)\w+(?!\w*\())+)/g;
  return [...text.matchAll(pattern)].map(([, steps = '']) =>
    [...steps.replaceAll(/,[^)]*/g, '').matchAll(/\.get\(\s*'(\w+)'|\['(\w+)'\]|\.(\w+)/g)]
      .map(([, got, key, name]) => got ?? key ?? name)
      .join('.'),
  );
}

/** Whether expressions look for items in a value. */
const isListIn = (text: string, name: string): boolean =>
  new RegExp(`\\bin config(?:\\['${name}'\\]|\\.${name}\\b)`).test(text);

/** Forms of one start time. */
export const moments: readonly string[] = [
  '2024-01-01T00:00:00Z',
  '2024-01-01',
  '2024-01-01T00:00:00.000Z',
  '2024-01-01T00:00:00.000000+0000',
  '2024-01-01 00:00:00',
  '20240101',
  '1704067200',
];

/** Undefined: the connection leaves it out. */
function valueFor(name: string, schema: JsonRecord): unknown {
  if (schema['const'] !== undefined) return schema['const'];
  if (Array.isArray(schema['enum'])) return schema['enum'][0];
  if (/end_?(?:date|time)|until|replication_end|time_step/i.test(name)) return undefined;
  const type = [schema['type']].flat().find((one) => one !== 'null');
  if (type === 'array') return undefined;
  if (schema['default'] !== undefined) return schema['default'];
  if (type === 'boolean') return false;
  if (type === 'integer' || type === 'number') return typeof schema['minimum'] === 'number' ? schema['minimum'] + 1 : 5;
  if (type === 'object') return undefined;
  const pattern = typeof schema['pattern'] === 'string' ? new RegExp(schema['pattern']) : null;
  if (/date|since|start|begin|from/i.test(name) || schema['format'] === 'date-time' || schema['format'] === 'date') {
    const candidates = schema['format'] === 'date' ? ['2024-01-01'] : moments;
    return candidates.find((moment) => pattern === null || pattern.test(moment)) ?? moments[0];
  }
  if (/host/i.test(name)) return 'mock.example';
  if (/url/i.test(name)) return 'https://mock.example';
  if (/domain|region|shop|data_?center/i.test(name)) return 'acme';
  if (/days|window|minutes|size|limit|workers|concurren|threads/i.test(name)) return 5;
  return `v${name.toLowerCase().replaceAll(/[^a-z]/g, '')}`;
}

function setAt(config: Record<string, unknown>, path: readonly string[], value: unknown): void {
  let at = config;
  for (const name of path.slice(0, -1)) {
    const next = at[name];
    const inner: Record<string, unknown> = isRecord(next) ? { ...next } : {};
    at[name] = inner;
    at = inner;
  }
  at[path.at(-1) ?? ''] = value;
}

function leaves(value: unknown, path: readonly string[], found: Map<string, unknown>): void {
  if (isRecord(value)) for (const [key, inner] of Object.entries(value)) leaves(inner, [...path, key], found);
  else found.set(path.join('_').replaceAll(/[^A-Za-z0-9_]+/g, '_'), value);
}

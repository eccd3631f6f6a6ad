import { isJsonObject } from '../../../json/is-json-object.ts';
import { constant, type Kind, missing, pathValue, type Value } from '../jinja/value.ts';
import { type Definition, pathKey, readDefinitions } from './definitions.ts';
import { toParam } from './param.ts';

type ConfigPlace =
  /** `params.x`, and `secrets.x` for a secret. */
  | 'plain'
  /** `$params.x`, for use over a record. */
  | 'variable';

/** The values of a connection, called `config` in the manifest. */
export interface Config {
  value(place: ConfigPlace): Value;
  /** The same for a connection that supplies nothing: only values with a default. */
  defaults(): Config;
  /** Fixes a value that the importer has decided, such as which authenticator is used. */
  decide(path: readonly string[], value: unknown): void;
  /** Makes the one value that this template reads required; it is used to authenticate. */
  require(template: string): void;
  add(key: string, definition: Definition): string;
  paramsOf(texts: string): readonly Readonly<Record<string, unknown>>[];
}

interface Param extends Definition {
  readonly path: readonly string[];
  readonly key: string;
}

/** Names of secrets where no connection specification says so. */
const secretName = /token|secret|passw|pwd|api_?key|private_?key|access_?key|credential/i;
/** Names of identifiers that some specifications hide as if they were secrets; addresses contain them. */
const identifierName =
  /(?:^|_)(?:id|realm|domain|subdomain|host|url|site|shop|store|workspace|account|company|region)(?:_|$)/i;
const depthMax = 10;

/** Without a connection specification, the expressions of the manifest say which values there are. */
export function createConfig(specification: unknown): Config {
  const definitions = readDefinitions(specification);
  const params = new Map<string, Param>();
  const required = new Set<string>();
  const decided = new Map<string, unknown>();

  function paramAt(path: readonly string[]): Param {
    const key = keyOf(path, params);
    const known = params.get(key);
    if (known) return known;
    const given = definitions.get(pathKey(path));
    const definition = given ? asIdentifier(given, path) : { schema: guess(path), required: false };
    const param = { ...definition, path, key };
    params.set(key, param);
    return param;
  }

  function valueAt(path: readonly string[], place: ConfigPlace): Value {
    const fixed = pathKey(path);
    if (decided.has(fixed)) return constant(decided.get(fixed));
    const member = (name: string): Value | null => (path.length < depthMax ? valueAt([...path, name], place) : null);
    const isParent =
      path.length === 0 || [...definitions.keys()].some((key) => key.startsWith(`${fixed.slice(0, -1)},`));
    if (isParent) return { kind: 'object', code: '{"config": true}', constant: { value: { config: true } }, member };
    const param = (): Param => paramAt(path);
    return {
      ...pathValue(''),
      get kind(): Kind {
        return kindOf(param().schema);
      },
      get code(): string {
        const { key, schema } = param();
        const secret = schema['airbyte_secret'] === true;
        return place === 'variable'
          ? `${secret ? '$secrets' : '$params'}.${key}`
          : `${secret ? 'secrets' : 'params'}.${key}`;
      },
      ...(definitions.has(fixed) ? {} : { member }),
    };
  }

  function defaultAt(path: readonly string[]): Value {
    const fallback = definitions.get(pathKey(path))?.schema['default'];
    const member = (name: string): Value | null => (path.length < depthMax ? defaultAt([...path, name]) : null);
    return fallback === undefined ? { ...missing, member } : constant(fallback);
  }

  const config: Config = {
    value: (place) => valueAt([], place),
    defaults: () => ({ ...config, value: () => defaultAt([]) }),
    decide: (path, value) => {
      decided.set(pathKey(path), value);
    },
    require: (template) => {
      const key = /^\{\{ (?:params|secrets)\.([A-Za-z0-9_]+) \}\}$/.exec(template)?.[1];
      if (key !== undefined) required.add(key);
    },
    add: (key, definition) => {
      params.set(key, { ...definition, path: [key], key });
      return key;
    },
    paramsOf: (texts) => {
      const used = new Set([...texts.matchAll(/\b(?:params|secrets)\.([A-Za-z][A-Za-z0-9_]*)/g)].map(([, key]) => key));
      return [...params.values()]
        .filter(({ key }) => used.has(key))
        .map((param) =>
          toParam(param.key, { schema: param.schema, required: param.required || required.has(param.key) }),
        );
    },
  };
  return config;
}

function keyOf(path: readonly string[], params: ReadonlyMap<string, Param>): string {
  const plain = path.join('_').replaceAll(/[^A-Za-z0-9_]+/g, '_');
  const base = (/^[A-Za-z]/.test(plain) ? plain : `p_${plain}`).slice(0, 58);
  let key = base;
  for (let number = 2; ; number += 1) {
    const other = params.get(key);
    if (other === undefined || pathKey(other.path) === pathKey(path)) return key;
    key = `${base}_${number}`;
  }
}

function asIdentifier(definition: Definition, path: readonly string[]): Definition {
  const name = path.at(-1) ?? '';
  if (definition.schema['airbyte_secret'] !== true || !identifierName.test(name) || secretName.test(name))
    return definition;
  const { airbyte_secret: _, ...schema } = definition.schema;
  return { ...definition, schema };
}

const guess = (path: readonly string[]): Readonly<Record<string, unknown>> =>
  secretName.test(path.at(-1) ?? '') ? { type: 'string', airbyte_secret: true } : { type: 'unknown' };

function kindOf(schema: Readonly<Record<string, unknown>>): Kind {
  const type = Array.isArray(schema['type']) ? schema['type'].find((name) => name !== 'null') : schema['type'];
  if (type === 'string') return 'text';
  if (type === 'integer' || type === 'number') return 'number';
  if (type === 'boolean') return 'boolean';
  if (type === 'array') return 'list';
  return isJsonObject(schema['properties']) ? 'object' : 'any';
}

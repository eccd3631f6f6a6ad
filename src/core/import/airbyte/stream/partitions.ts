import { isJsonObject } from '../../../json/is-json-object.ts';
import {
  type Component,
  componentOf,
  isTrue,
  partOf,
  partsOf,
  pathAt,
  refuseType,
  textOf,
  valueOf,
} from '../component.ts';
import type { Config } from '../config/config.ts';
import { constant, pathValue, step, type Value } from '../jinja/value.ts';
import { joined } from '../manifest/origins.ts';
import { refuse } from '../refusal.ts';
import { evaluate, expressionOf, knownText } from '../render.ts';
import { putOption, type RequestDraft, readOption } from './request-draft.ts';
import { type Slice, startScope } from './scopes.ts';

export interface ParentResource {
  readonly key: string;
  readonly primaryKey: readonly string[];
  /** Whether it is a stream of the manifest and not only a parent. */
  readonly isListed: boolean;
  readonly partitionNames: readonly string[];
  /** The field by which its records carry a value of its own partition; the first call adds it to them. */
  partitionField(name: string): string;
}

export interface Partitions {
  readonly forEach: readonly Readonly<Record<string, unknown>>[];
  readonly slice: Slice;
  put(draft: RequestDraft): void;
}

interface Setting {
  readonly config: Config;
  readonly parentOf: (stream: Component) => ParentResource;
}

interface Dimension {
  readonly entry: Readonly<Record<string, unknown>>;
  readonly names: readonly (readonly [name: string, value: (root: string) => Value])[];
  readonly put: (draft: RequestDraft) => void;
}

export function readPartitions(retriever: Component, setting: Setting): Partitions {
  const routers = routersOf(retriever);
  if (routers.length > 4)
    refuse(pathAt(retriever, 'partition_router'), 'more than four partition routers are not combined');
  const taken = new Set<string>();
  const dimensions = routers.map((router) => dimensionOf(router, setting, taken));
  const names = (root: string): ReadonlyMap<string, Value> => {
    const entries = dimensions.flatMap((dimension) =>
      dimension.names.map(([name, value]): [string, Value] => [name, value(root)]),
    );
    const extra = new Map(
      entries.filter(([name]) => name.startsWith('extra:')).map(([name, value]) => [name.slice(6), value]),
    );
    const parents = new Map(
      entries.filter(([name]) => name.startsWith('parent:')).map(([name, value]) => [name.slice(7), value]),
    );
    return new Map([
      ...entries.filter(([name]) => !/^(?:extra|parent):/.test(name)),
      ['extra_fields', structure(extra)],
      ['parent_slice', structure(parents)],
    ]);
  };
  return {
    forEach: dimensions.map(({ entry }) => entry),
    slice: { inRequest: names('each'), inRecord: names('$each') },
    put: (draft) => dimensions.forEach((dimension) => dimension.put(draft)),
  };
}

const structure = (fields: ReadonlyMap<string, Value>): Value => ({
  kind: 'object',
  code: '{}',
  member: (key) => fields.get(key) ?? (key === 'partition' ? structure(fields) : null),
});

function routersOf(retriever: Component): readonly Component[] {
  const value = valueOf(retriever, 'partition_router');
  if (value === undefined) return [];
  if (Array.isArray(value)) return partsOf(retriever, 'partition_router');
  const router = partOf(retriever, 'partition_router');
  return router === null ? [] : [router];
}

function dimensionOf(router: Component, setting: Setting, taken: Set<string>): Dimension {
  switch (router.type) {
    case 'ListPartitionRouter':
      return listDimension(router, setting, taken);
    case 'SubstreamPartitionRouter':
      return parentDimension(router, setting, taken);
    case 'UnionPartitionRouter':
      return unionDimension(router, setting, taken);
    case 'GroupingPartitionRouter':
      return groupDimension(router, setting, taken);
    default:
      return refuseType(
        router,
        'the partition routers of lists and of one parent, their unions and groups are converted',
      );
  }
}

function variable(name: string, taken: Set<string>): string {
  const plain = name.replaceAll(/[^A-Za-z0-9_]/g, '_').slice(0, 55);
  const base = /^[A-Za-z_]/.test(plain) ? plain : `_${plain}`;
  let as = base;
  for (let number = 2; taken.has(as); number += 1) as = `${base}_${number}`;
  taken.add(as);
  return as;
}

function listDimension(router: Component, { config }: Setting, taken: Set<string>): Dimension {
  const scope = startScope({ component: router, config });
  const at = pathAt(router, 'values');
  const given = valueOf(router, 'values');
  const list = typeof given === 'string' ? evaluate(given, scope, at) : constant(given);
  const known = list.constant?.value;
  if (list.constant && !Array.isArray(known)) return refuse(at, 'expected a list, or an expression that gives one');
  const name = knownText(textOf(router, 'cursor_field') ?? '', scope, pathAt(router, 'cursor_field'));
  if (name === '') return refuse(router.path, 'it has no cursor_field');
  const as = variable(name, taken);
  const value = (root: string): Value =>
    pathValue(
      `${root}.${as}`,
      Array.isArray(known) && known.every((item) => typeof item === 'string') ? 'text' : 'any',
    );
  const option = partOf(router, 'request_option');
  return {
    entry: { as, values: `{{ ${list.kind === 'text' ? listOfText(list.code) : expressionOf(list)} }}` },
    names: [[name, value]],
    put: (draft) => {
      if (option !== null) putOption(draft, readOption(option, config), value('each'), option.path);
    },
  };
}

/** The CDK reads a text that is a Python list, which JSONata cannot. */
const listOfText = (code: string): string => `($type(${code}) = "array" ? ${code} : null)`;

function parentDimension(router: Component, { config, parentOf }: Setting, taken: Set<string>): Dimension {
  const configs = partsOf(router, 'parent_stream_configs');
  const [parent] = configs;
  if (parent === undefined) return refuse(router.path, 'it has no parent stream');
  if (configs.length > 1)
    return refuse(pathAt(router, 'parent_stream_configs'), 'partitions of several parents are not put together');
  // With `lazy_read_pointer` the first children come from the parent's response; requests give the same ones.
  const stream = valueOf(parent, 'stream');
  if (!isJsonObject(stream)) return refuse(pathAt(parent, 'stream'), 'expected a stream');
  const component = componentOf(stream, parent.origins, parent.origins.pathOf(stream) || pathAt(parent, 'stream'));
  const resource = parentOf(component);
  const scope = startScope({ component: parent, config });
  const field = knownText(textOf(parent, 'partition_field') ?? '', scope, pathAt(parent, 'partition_field'));
  const key = knownText(textOf(parent, 'parent_key') ?? '', scope, pathAt(parent, 'parent_key'));
  const as = variable(field, taken);
  const keyPath = steps(key.split('/'), pathAt(parent, 'parent_key'));
  const value = (root: string): Value => pathValue(`${root}.${as}.${keyPath}`);
  const option = partOf(parent, 'request_option');
  const changed = isTrue(parent, 'incremental_dependency') && resource.isListed;
  return {
    entry: {
      as,
      resource: resource.key,
      ...(changed ? { from: 'store', select: 'changed' } : {}),
      ...(resource.primaryKey.includes(key) ? {} : { when: `$exists(${keyPath})` }),
    },
    names: [[field, value], ...extraFields(parent, as), ...parentNames(as, resource)],
    put: (draft) => {
      if (option !== null) putOption(draft, readOption(option, config), value('each'), option.path);
    },
  };
}

function steps(names: readonly string[], at: string): string {
  const parts = names.map(step);
  return parts.includes(null) ? refuse(at, 'expected a path of names') : parts.join('.');
}

function extraFields(parent: Component, as: string): Dimension['names'] {
  const paths = valueOf(parent, 'extra_fields');
  if (!Array.isArray(paths)) return [];
  return paths.map((path, index) => {
    const at = joined(pathAt(parent, 'extra_fields'), String(index));
    if (!Array.isArray(path)) return refuse(at, 'expected a list of names');
    const names = path.map(String);
    const code = steps(names, at);
    return [`extra:${names.join('.')}`, (root: string) => pathValue(`${root}.${as}.${code}`)] as const;
  });
}

/** `stream_partition.parent_slice`: the parent's records carry its own partition. */
const parentNames = (as: string, resource: ParentResource): Dimension['names'] =>
  resource.partitionNames.map((name) => [
    `parent:${name}`,
    (root: string): Value => ({
      kind: 'any',
      plain: true,
      get code() {
        return `${root}.${as}.${resource.partitionField(name)}`;
      },
    }),
  ]);

function unionDimension(router: Component, setting: Setting, taken: Set<string>): Dimension {
  const scope = startScope({ component: router, config: setting.config });
  const field = knownText(textOf(router, 'partition_field') ?? '', scope, pathAt(router, 'partition_field'));
  const as = variable(field, taken);
  const union = partsOf(router, 'partition_routers').flatMap((inner) => sourcesOf(inner, setting));
  if (union.length === 0 || union.length > 8) return refuse(router.path, 'expected one to eight routers');
  return { entry: { as, union }, names: [[field, (root) => pathValue(`${root}.${as}`)]], put: () => undefined };
}

function sourcesOf(router: Component, setting: Setting): readonly Readonly<Record<string, unknown>>[] {
  if (router.type === 'UnionPartitionRouter')
    return partsOf(router, 'partition_routers').flatMap((inner) => sourcesOf(inner, setting));
  const { entry } = plainDimension(router, setting);
  const { as: _, ...source } = entry;
  return [source];
}

/** A list or a parent whose field is the value itself. */
function plainDimension(router: Component, setting: Setting): Dimension {
  const taken = new Set<string>();
  if (router.type === 'ListPartitionRouter') return listDimension(router, setting, taken);
  if (router.type !== 'SubstreamPartitionRouter') return refuseType(router, 'lists and parents are put together');
  const dimension = parentDimension(router, setting, taken);
  const parent = partsOf(router, 'parent_stream_configs')[0];
  const key = (parent === undefined ? '' : (textOf(parent, 'parent_key') ?? '')).replaceAll('/', '.');
  if (!/^[\p{L}\p{N}_@#][\p{L}\p{N}_@#:-]*(?:\.[\p{L}\p{N}_@#][\p{L}\p{N}_@#:-]*)*$/u.test(key)) {
    return refuse(router.path, 'a parent key that is an expression cannot be put together with others');
  }
  return { ...dimension, entry: { ...dimension.entry, value: key } };
}

function groupDimension(router: Component, setting: Setting, taken: Set<string>): Dimension {
  const size = valueOf(router, 'group_size');
  if (typeof size !== 'number' || !Number.isInteger(size) || size < 1 || size > 1000) {
    return refuse(pathAt(router, 'group_size'), 'expected a number from 1 to 1000');
  }
  const inner = partOf(router, 'underlying_partition_router');
  if (inner === null) return refuse(router.path, 'it has no underlying_partition_router');
  const isUnion = inner.type === 'UnionPartitionRouter';
  const { entry, names } = isUnion ? unionDimension(inner, setting, new Set()) : plainDimension(inner, setting);
  const [name] = names[0] ?? [''];
  const as = variable(name, taken);
  const list = (root: string): Value => ({ ...pathValue(`${root}.${as}`), kind: 'list' });
  return { entry: { ...entry, as, group: { size } }, names: [[name, list]], put: () => undefined };
}

import { isJsonObject } from '../../json/is-json-object.ts';
import { Refusal } from '../refusal.ts';
import { type Component, componentOf, partOf, pathAt, textOf, valueOf } from './component.ts';
import type { Config } from './config/config.ts';
import { streamsOfTemplate, type TemplateBudget } from './dynamic-streams.ts';
import { joined, type Origins } from './manifest/origins.ts';
import { propagateParameters } from './manifest/propagate-parameters.ts';
import type { Resolver } from './manifest/resolve-references.ts';
import { refuse } from './refusal.ts';
import { conditionOf } from './render.ts';
import { convertStream, nameOf, type StreamDraft } from './stream/convert-stream.ts';
import type { ParentResource } from './stream/partitions.ts';
import { startScope } from './stream/scopes.ts';

export interface ReadStream {
  readonly name: string;
  readonly key: string;
  readonly draft: StreamDraft | null;
  readonly refusal: Refusal | null;
}

/** The streams of a manifest in its order, and the parents that are not among them. */
export interface ReadStreams {
  readonly listed: readonly ReadStream[];
  readonly parents: readonly ReadStream[];
}

interface Reading {
  readonly origins: Origins;
  readonly resolver: Resolver;
  readonly config: Config;
}

const streamsMax = 2_000;
const templateNodesMax = 500_000;

interface Found {
  readonly stream: Component | null;
  readonly name: string;
  readonly refusal: Refusal | null;
}

export function readStreams(manifest: Readonly<Record<string, unknown>>, reading: Reading): ReadStreams {
  const found = [...listStreams(manifest, reading), ...listDynamic(manifest, reading)].slice(0, streamsMax);
  const registry = createRegistry(found, reading);
  const listed = found.map(({ stream, name, refusal }): ReadStream => {
    if (stream === null || refusal !== null) return { name, key: '', draft: null, refusal };
    return { ...registry.read(stream), name };
  });
  return { listed, parents: registry.parents() };
}

function listStreams(manifest: Readonly<Record<string, unknown>>, reading: Reading): readonly Found[] {
  const { streams } = manifest;
  const list = Array.isArray(streams) ? streams : [];
  return list.slice(0, streamsMax).flatMap((item, index) => {
    const path = `streams.${index}`;
    return attempt(path, nameHint(item, path), () => {
      const component = resolved(item, path, { field: 'DeclarativeSource.streams', manifest, reading });
      return expand(component, reading.config);
    });
  });
}

/** Conditional streams are ordinary streams, unless their condition is known to be false. */
function expand(component: Component, config: Config): readonly Found[] {
  if (component.type !== 'ConditionalStreams') return [{ stream: component, name: nameOf(component), refusal: null }];
  const condition = conditionOf(
    textOf(component, 'condition') ?? '',
    startScope({ component, config }),
    pathAt(component, 'condition'),
  );
  const inner = valueOf(component, 'streams');
  const items = Array.isArray(inner) ? inner.filter(isJsonObject) : [];
  return items.map((item, index): Found => {
    const stream = componentOf(
      item,
      component.origins,
      component.origins.pathOf(item) || joined(pathAt(component, 'streams'), String(index)),
    );
    const off = condition.constant?.value === false;
    const refusal = off ? new Refusal('its condition is never true', pathAt(component, 'condition')) : null;
    return { stream, name: nameOf(stream), refusal };
  });
}

function attempt(path: string, name: string, read: () => readonly Found[]): readonly Found[] {
  try {
    return read();
  } catch (error) {
    return [{ stream: null, name, refusal: refusalOf(error, path) }];
  }
}

/** Turns a RangeError into a refusal: a hostile document may be too deep for the stack. */
function refusalOf(error: unknown, path: string): Refusal {
  if (error instanceof Refusal) return error;
  if (error instanceof RangeError) return new Refusal('it nests too deeply', path);
  throw error;
}

function nameHint(item: unknown, path: string): string {
  if (typeof item === 'string') return item.slice(item.lastIndexOf('/') + 1).slice(0, 200);
  if (!isJsonObject(item)) return path;
  const parameters = item['$parameters'];
  const name = item['name'] ?? (isJsonObject(parameters) ? parameters['name'] : undefined);
  if (typeof name === 'string') return name.slice(0, 200);
  return typeof item['$ref'] === 'string' ? nameHint(item['$ref'], path) : path;
}

function listDynamic(manifest: Readonly<Record<string, unknown>>, reading: Reading): readonly Found[] {
  const list = manifest['dynamic_streams'];
  const budget: TemplateBudget = { left: templateNodesMax };
  return (Array.isArray(list) ? list : []).flatMap((item, index) => {
    const path = `dynamic_streams.${index}`;
    return attempt(path, nameHint(item, path), () => {
      const component = resolved(item, path, { field: 'DeclarativeSource.dynamic_streams', manifest, reading });
      return streamsOfTemplate(component, reading.config, budget).flatMap((stream) => expand(stream, reading.config));
    });
  });
}

function resolved(
  item: unknown,
  path: string,
  {
    field,
    manifest,
    reading: { resolver, origins },
  }: { readonly field: string; readonly manifest: Readonly<Record<string, unknown>>; readonly reading: Reading },
): Component {
  const parameters = isJsonObject(manifest['$parameters']) ? manifest['$parameters'] : {};
  const value = resolver.resolve(item, path);
  if (!isJsonObject(value)) return refuse(path, 'expected a stream');
  const typed = propagateParameters(field, value, { parameters, origins });
  return componentOf(typed, origins, origins.pathOf(typed) || path);
}

interface Registry {
  read(stream: Component): Omit<ReadStream, 'name'>;
  parents(): readonly ReadStream[];
}

/** Converts each stream once, whether it is listed, a parent or both. */
function createRegistry(found: readonly Found[], { config, resolver }: Reading): Registry {
  const done = new Map<string, ReadStream>();
  const open = new Set<string>();
  const keys = new Set<string>();

  // Streams of the manifest keep their names, in any order of reading parents.
  const listedKeys = new Map<string, string>();
  for (const { stream } of found) {
    if (stream === null) continue;
    const id = identity(stream);
    if (!listedKeys.has(id)) listedKeys.set(id, keyFor(nameOf(stream), keys));
  }

  function read(stream: Component): ReadStream {
    const id = identity(stream);
    const known = done.get(id);
    if (known) return known;
    if (open.has(id) || open.size > 20) refuse(stream.path, 'its parents lead to itself');
    open.add(id);
    const key = listedKeys.get(id) ?? keyFor(`${nameOf(stream)}_parent`, keys);
    const result = convert(stream, key);
    open.delete(id);
    done.set(id, result);
    return result;
  }

  function convert(stream: Component, key: string): ReadStream {
    const name = nameOf(stream);
    try {
      return { name, key, draft: convertStream(stream, { config, full: false, parentOf, schemaOf }), refusal: null };
    } catch (error) {
      return { name, key, draft: null, refusal: refusalOf(error, stream.path) };
    }
  }

  function schemaOf(stream: Component): unknown {
    const path = pathAt(stream, 'schema_loader');
    try {
      const loader = resolver.resolveSchema(stream.fields['schema_loader'], path);
      return isJsonObject(loader) ? loader['schema'] : undefined;
    } catch (error) {
      if (error instanceof Refusal) return undefined;
      throw error;
    }
  }

  function parentOf(stream: Component): ParentResource {
    const { key, draft, refusal } = read(stream);
    if (refusal !== null) throw refusal;
    if (draft === null) return refuse(stream.path, 'its parent cannot be read');
    return {
      key,
      primaryKey: draft.primaryKey,
      isListed: listedKeys.has(identity(stream)),
      partitionNames: [...draft.slice.inRequest.keys()].filter(
        (name) => draft.slice.inRequest.get(name)?.plain === true,
      ),
      partitionField: (name) => {
        const field = `airbyte_parent_${name.replaceAll(/\W/g, '_')}`;
        draft.partitionFields.set(field, draft.slice.inRequest.get(name)?.code ?? 'null');
        return field;
      },
    };
  }

  return {
    read,
    parents: () =>
      [...done].filter(([id]) => !listedKeys.has(id)).map(([, stream]) => ({ ...stream, name: stream.key })),
  };
}

/** Two components with the same values, schemas aside, are the same stream. */
function identity(stream: Component): string {
  const { schema_loader: _, $parameters: __, ...fields } = stream.fields;
  const whole = partOf(stream, 'retriever');
  return JSON.stringify([fields, whole === null ? null : stream.parameters]);
}

function keyFor(name: string, keys: Set<string>): string {
  const plain = name.replaceAll(/[^A-Za-z0-9_-]+/g, '_').slice(0, 55);
  const base = /^[A-Za-z]/.test(plain) && plain !== 'constructor' && plain !== 'prototype' ? plain : `r_${plain}`;
  let key = base;
  const taken = (candidate: string): boolean => keys.has(candidate.toLowerCase().replaceAll('-', '_'));
  for (let number = 2; taken(key); number += 1) key = `${base}_${number}`;
  keys.add(key.toLowerCase().replaceAll('-', '_'));
  return key;
}

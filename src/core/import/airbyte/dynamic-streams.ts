import { isJsonObject } from '../../json/is-json-object.ts';
import { type Component, componentOf, partOf, partsOf, pathAt, valueOf } from './component.ts';
import type { Config } from './config/config.ts';
import { isTruthy, literal } from './jinja/python.ts';
import { constant, type Scope } from './jinja/value.ts';
import type { Origins } from './manifest/origins.ts';
import { propagateParameters } from './manifest/propagate-parameters.ts';
import { refuse } from './refusal.ts';
import { evaluate, knownText } from './render.ts';
import { startScope } from './stream/scopes.ts';

/** Values that templates may still produce: each stream is a copy. */
export interface TemplateBudget {
  left: number;
}

/**
 * Copies the template for each item, with the item's values at the places of `components_mapping`. Refuses a list that
 * only a connection or a response has.
 */
export function streamsOfTemplate(definition: Component, config: Config, budget: TemplateBudget): readonly Component[] {
  const template = partOf(definition, 'stream_template');
  const resolver = partOf(definition, 'components_resolver');
  if (template === null || resolver === null)
    return refuse(definition.path, 'it has no stream_template or no components_resolver');
  if (resolver.type !== 'ParametrizedComponentsResolver')
    return refuse(
      resolver.path || definition.path,
      'streams that a connection or a response makes up have no counterpart; write each as a stream of its own',
    );
  const parameters = partOf(resolver, 'stream_parameters');
  const items = parameters === null ? undefined : valueOf(parameters, 'list_of_parameters_for_stream');
  if (!Array.isArray(items)) return refuse(resolver.path, 'it has no list_of_parameters_for_stream');
  budget.left -= items.length * nodesIn(template.fields);
  if (budget.left < 0) return refuse(resolver.path, 'the streams of all templates have too many values');
  const mappings = partsOf(resolver, 'components_mapping');
  const parentsWin = valueOf(definition, 'use_parent_parameters') !== false;
  const { origins } = template;
  return items.map((item) => {
    const filled = mappings.reduce<Fields>((stream, mapping) => {
      const scope = mappingScope(mapping, { config, item, template });
      return withValue(stream, mapping, { scope, origins });
    }, template.fields);
    const stream = propagateParameters('', filled, { parameters: {}, origins, parentsWin });
    const typed = { ...stream, type: stream['type'] ?? 'DeclarativeStream' };
    origins.note(typed, template.path, origins.keysOf(stream));
    return componentOf(typed, origins, template.path);
  });
}

function nodesIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce<number>((sum, item) => sum + nodesIn(item), 1);
}

type Fields = Readonly<Record<string, unknown>>;

function mappingScope(
  mapping: Component,
  { config, item, template }: { readonly config: Config; readonly item: unknown; readonly template: Component },
): Scope {
  const start = startScope({ component: mapping, config });
  const own = new Map([
    ['components_values', constant(item)],
    ['stream_template_config', constant(template.fields)],
  ]);
  return { place: 'in components_mapping', name: (name) => own.get(name) ?? start.name(name) };
}

/** A missing place stays missing, unless it may be created. */
function withValue(
  stream: Fields,
  mapping: Component,
  { scope, origins }: { readonly scope: Scope; readonly origins: Origins },
): Fields {
  const at = pathAt(mapping, 'field_path');
  const names = valueOf(mapping, 'field_path');
  if (!Array.isArray(names) || names.length === 0) return refuse(at, 'expected a list of names');
  const path = names.map((name) => {
    const known = knownText(String(name), scope, at);
    return /[*?[\]]/.test(known) ? refuse(at, 'a pattern has no counterpart: name one place') : known;
  });
  // Schemas are not read here; the template's would belong to another stream.
  if (path[0] === 'schema_loader') return { ...stream, schema_loader: undefined };
  const value = mappedValue(mapping, scope);
  const creates = valueOf(mapping, 'create_or_update') === true && isTruthy(value);
  const changed = changedAt(stream, path, { value, creates, origins });
  return isJsonObject(changed) ? changed : stream;
}

/** Reads the value as the CDK does: as a literal of Python, then as YAML. */
function mappedValue(mapping: Component, scope: Scope): unknown {
  const at = pathAt(mapping, 'value');
  const given = valueOf(mapping, 'value');
  if (typeof given !== 'string') return refuse(at, 'expected a text');
  const { constant: known } = evaluate(given, scope, at);
  if (known === undefined) return refuse(at, 'it must not depend on a connection or a response');
  if (known.value === undefined) return null;
  const value = typeof known.value === 'string' ? literal(known.value) : known.value;
  if (typeof value !== 'string' || value === '') return value === '' ? null : value;
  return isPlainYaml(value) ? value : refuse(at, `the text ${JSON.stringify(value.slice(0, 100))} is read as YAML`);
}

/** Whether YAML 1.1 reads the same text. */
const isPlainYaml = (text: string): boolean =>
  /^[A-Za-z/_][^\n\t]*$/.test(text) &&
  !/:(?:\s|$)|\s#|\s$/.test(text) &&
  !/^(?:y|n|yes|no|on|off|true|false|null)$/i.test(text);

interface Change {
  readonly value: unknown;
  readonly creates: boolean;
  readonly origins: Origins;
}

function changedAt(target: unknown, path: readonly string[], change: Change): unknown {
  const [name, ...rest] = path;
  if (name === undefined) return change.value;
  const { origins } = change;
  if (Array.isArray(target)) {
    const index = Number(name);
    if (!/^\d{1,6}$/.test(name) || index >= target.length) return target;
    const items = target.with(index, changedAt(target[index], rest, change));
    origins.note(items, origins.pathOf(target));
    return items;
  }
  if (!isJsonObject(target)) return target;
  if (!Object.hasOwn(target, name) && !change.creates) return target;
  const inner = target[name];
  const below = rest.length > 0 && inner === undefined ? {} : inner;
  const fields = { ...target, [name]: changedAt(below, rest, change) };
  origins.note(fields, origins.pathOf(target), new Map([...origins.keysOf(target)].filter(([key]) => key !== name)));
  return fields;
}

import { isJsonObject } from '../../json/is-json-object.ts';
import { joined, type Origins } from './manifest/origins.ts';
import { refuse } from './refusal.ts';

export interface Component {
  readonly type: string;
  /** Dotted path into the given document. */
  readonly path: string;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly origins: Origins;
  readonly parameters: Readonly<Record<string, unknown>>;
}

export function componentOf(value: Readonly<Record<string, unknown>>, origins: Origins, path?: string): Component {
  const parameters = value['$parameters'];
  return {
    type: typeof value['type'] === 'string' ? value['type'] : '',
    path: path ?? origins.pathOf(value),
    fields: value,
    origins,
    parameters: isJsonObject(parameters) ? parameters : {},
  };
}

export const pathAt = (component: Component, key: string): string => {
  const own = component.origins.pathAt(component.fields, key);
  return own === key ? joined(component.path, key) : own;
};

export const valueOf = (component: Component, key: string): unknown => component.fields[key] ?? undefined;

/** Refuses values that are not objects. */
export function partOf(component: Component, key: string): Component | null {
  const value = valueOf(component, key);
  if (value === undefined) return null;
  if (!isJsonObject(value)) refuse(pathAt(component, key), 'expected a component');
  return componentOf(value, component.origins, component.origins.pathOf(value) || pathAt(component, key));
}

/** Refuses values that are not lists of objects. */
export function partsOf(component: Component, key: string): readonly Component[] {
  const value = valueOf(component, key);
  if (value === undefined) return [];
  if (!Array.isArray(value)) refuse(pathAt(component, key), 'expected a list of components');
  return value.map((item, index) => {
    const path = joined(component.origins.pathOf(value) || pathAt(component, key), String(index));
    if (!isJsonObject(item)) refuse(path, 'expected a component');
    return componentOf(item, component.origins, component.origins.pathOf(item) || path);
  });
}

/** Numbers and booleans count as their text. */
export function textOf(component: Component, key: string): string | undefined {
  const value = valueOf(component, key);
  if (value === undefined || typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return refuse(pathAt(component, key), 'expected a text');
}

export const isTrue = (component: Component, key: string): boolean => valueOf(component, key) === true;

export const refuseType = (component: Component, advice: string): never =>
  refuse(component.path, `${component.type || 'a component without type'} has no counterpart: ${advice}`);

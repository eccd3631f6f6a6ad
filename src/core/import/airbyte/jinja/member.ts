import { text } from './python.ts';
import { JinjaError } from './syntax.ts';
import { computed, constant, missing, step, type Value } from './value.ts';

export function memberOf(of: Value, key: Value, at: number): Value {
  if (key.constant === undefined) {
    if (of.member) throw new JinjaError('reads a field whose name is computed', at);
    return computed('any', `$lookup(${of.code}, ${text(key).code})`);
  }
  const name = key.constant.value;
  if (typeof name === 'number') return itemOf(of, name, at);
  if (typeof name !== 'string') throw new JinjaError('reads a field by a value that is not a name', at);
  if (of.member) {
    const found = of.member(name);
    if (found === null) throw new JinjaError(`reads \`${name.slice(0, 100)}\`, which is not known there`, at);
    return found;
  }
  if (of.constant) return constantMember(of.constant.value, name);
  const part = step(name);
  if (part === null) throw new JinjaError('reads a field whose name JSONata cannot express', at);
  const code = of.code === '$' ? (name === 'lookups' ? `$.${part}` : part) : `${of.code}.${part}`;
  return { kind: 'any', code, plain: of.plain === true };
}

function constantMember(value: unknown, name: string): Value {
  const found = typeof value === 'object' && value !== null && Object.hasOwn(value, name);
  return found ? constant((value as Readonly<Record<string, unknown>>)[name]) : missing;
}

function itemOf(of: Value, index: number, at: number): Value {
  if (of.constant) {
    const { value } = of.constant;
    const item = Array.isArray(value) || typeof value === 'string' ? value.at(index) : undefined;
    return item === undefined ? missing : constant(item);
  }
  if (of.member) throw new JinjaError('reads an item of something that is not a list', at);
  if (of.kind === 'text') return computed('text', `$substring(${of.code}, ${index}, 1)`);
  return { ...computed('any', `(${of.code})[${index}]`), plain: of.plain === true };
}

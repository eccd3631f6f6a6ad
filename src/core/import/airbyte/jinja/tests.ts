import type { Arguments } from './arguments.ts';
import { comparison, contained } from './operators.ts';
import { negation } from './python.ts';
import { JinjaError } from './syntax.ts';
import { computed, constant, type Value } from './value.ts';

const types: Readonly<Record<string, readonly string[]>> = {
  string: ['string'],
  number: ['number'],
  integer: ['number'],
  float: ['number'],
  boolean: ['boolean'],
  mapping: ['object'],
  sequence: ['array', 'string', 'object'],
  iterable: ['array', 'string', 'object'],
};

/** Throws `JinjaError` for a test without counterpart. */
export function runTest(name: string, of: Value, args: Arguments, at: number): Value {
  switch (name) {
    case 'defined':
      return defined(of);
    case 'undefined':
      return negation(defined(of));
    case 'none':
    case 'None':
      return none(of);
    case 'true':
    case 'false':
      return of.constant
        ? constant(of.constant.value === (name === 'true'))
        : computed('boolean', `(${of.code} = ${name})`);
    case 'eq':
    case 'equalto':
    case 'sameas':
      return comparison('==', { left: of, right: argument(args, at), at });
    case 'ne':
      return comparison('!=', { left: of, right: argument(args, at), at });
    case 'in':
      return contained(of, argument(args, at), at);
    default:
      return ofType(name, of, at);
  }
}

function argument(args: Arguments, at: number): Value {
  const value = args.get(0);
  if (value === null) throw new JinjaError('has a test without its argument', at);
  return value;
}

function defined(of: Value): Value {
  if (of.constant) return constant(of.constant.value !== undefined);
  return of.absent === 'none' ? constant(true) : computed('boolean', `$exists(${of.code})`);
}

function none(of: Value): Value {
  if (of.constant) return constant(of.constant.value === null);
  if (of.absent === 'none') return computed('boolean', `($exists(${of.code}) ? ${of.code} = null : true)`);
  return computed('boolean', `(${of.code} = null)`);
}

function ofType(name: string, of: Value, at: number): Value {
  const names = types[name];
  if (names === undefined) throw new JinjaError(`has the test \`${name.slice(0, 50)}\`, which has no counterpart`, at);
  if (name === 'integer' || name === 'float') {
    const whole = `$type(${of.code}) = "number" and $floor(${of.code}) ${name === 'integer' ? '=' : '!='} ${of.code}`;
    return computed('boolean', `(${whole} ? true : false)`);
  }
  if (of.constant) {
    const { value } = of.constant;
    const type = Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value;
    return constant(names.includes(type));
  }
  return computed('boolean', `($type(${of.code}) in [${names.map((type) => `"${type}"`).join(', ')}] ? true : false)`);
}

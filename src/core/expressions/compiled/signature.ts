/**
 * A function's signature in jsonata: `<s-nn?:s>` is a text, by default the context, a number and perhaps another. `s n
 * b o a x` stand for text, number, boolean, object, list, anything. `(ns)` is a choice; `a<n>` is a list of numbers and
 * accepts a single number. Nothing (`m`) is accepted for any of them.
 */
import { fail } from './evaluation.ts';
import { isList } from './sequence.ts';

/** Completes the arguments, or fails with T0410, T0411 or T0412. */
export type Signature = (given: readonly unknown[], context: unknown) => readonly unknown[];

interface Parameter {
  readonly types: string;
  readonly isOptional: boolean;
  readonly takesContext: boolean;
  readonly isList: boolean;
  /** Symbol of the items of a list; `null` for any. */
  readonly itemType: string | null;
}

const parameterForm = /(?<types>\([a-z]+\)|[a-z])(?:<(?<itemType>[a-z])>)?(?<mark>[-?]?)/g;
const anything = 'asnblfom';

export function readSignature(text: string): Signature {
  const parameters = [...text.replace(/:.*$/, '').matchAll(parameterForm)].map(readParameter);
  const wholePattern = new RegExp(`^${parameters.map(patternOf).join('')}$`);
  const convertsNone = parameters.every(({ isList: wantsList }) => !wantsList);
  return (given, context) => {
    if (fitsInOrder(parameters, given)) {
      return convertsNone ? given : parameters.map((parameter, n) => converted(parameter, given[n]));
    }
    const match = wholePattern.exec(given.map(symbolOf).join(''));
    return match === null ? fail('T0410') : completed(parameters, { match, given, context });
  };
}

function readParameter({ groups = {} }: RegExpExecArray): Parameter {
  const { types = '', itemType = null, mark } = groups;
  const isAny = types === 'x' || types === 'a';
  return {
    types: isAny ? anything : `${types.replace(/[()]/g, '')}m`,
    isOptional: mark === '-' || mark === '?',
    takesContext: mark === '-',
    isList: types === 'a',
    itemType,
  };
}

const patternOf = ({ types, isOptional }: Parameter): string => `([${types}]${isOptional ? '?' : ''})`;

/** The common case: each argument fits the parameter at its place, and none is the context. */
function fitsInOrder(parameters: readonly Parameter[], given: readonly unknown[]): boolean {
  if (given.length > parameters.length) return false;
  for (let index = 0; index < parameters.length; index += 1) {
    const parameter = parameters[index];
    if (parameter === undefined) return false;
    const fits =
      index < given.length
        ? parameter.types.includes(symbolOf(given[index]))
        : parameter.isOptional && !parameter.takesContext;
    if (!fits) return false;
  }
  return true;
}

function completed(
  parameters: readonly Parameter[],
  options: { readonly match: RegExpExecArray; readonly given: readonly unknown[]; readonly context: unknown },
): readonly unknown[] {
  const { match, given, context } = options;
  let next = 0;
  return parameters.map((parameter, index) => {
    if (match[index + 1] !== '' || !parameter.takesContext) return converted(parameter, given[next++]);
    return parameter.types.includes(symbolOf(context)) ? context : fail('T0411');
  });
}

function converted({ isList: wantsList, itemType }: Parameter, value: unknown): unknown {
  if (!wantsList || value === undefined) return value;
  if (itemType === null) return isList(value) ? value : [value];
  const items = isList(value) ? value : [value];
  return items.every((item) => symbolOf(item) === itemType) ? items : fail('T0412');
}

function symbolOf(value: unknown): string {
  if (value === undefined) return 'm';
  if (value === null) return 'l';
  return symbols[typeof value] ?? (Array.isArray(value) ? 'a' : 'o');
}

const symbols: Readonly<Record<string, string>> = { string: 's', number: 'n', boolean: 'b' };

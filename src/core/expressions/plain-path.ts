/** Only JSONata itself knows the result when an array is on the path. */
export const arrayOnPath: unique symbol = Symbol('array on the path');

/**
 * JSONata's own result for a plain dotted path (`body.paging.next`, names in backticks allowed), without a round trip
 * to another process. The function returns {@link arrayOnPath} when the input or a step before the last is an array.
 * `null` for other expressions.
 */
export function compilePlainPath(expression: string): ((input: unknown) => unknown) | null {
  const names = splitPath(expression.trim());
  if (names === null) return null;
  return (input) => {
    let value = input;
    for (const name of names) {
      if (Array.isArray(value)) return arrayOnPath;
      if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
      value = (value as Readonly<Record<string, unknown>>)[name];
    }
    return value;
  };
}

const step = /\s*(?:([A-Za-z_][A-Za-z0-9_]*)|`([^`]+)`)\s*(\.|$)/y;

/** Words that JSONata reads as a value or an operator instead of a field. */
const reserved = new Set(['and', 'or', 'in', 'true', 'false', 'null', 'function']);

function splitPath(expression: string): readonly string[] | null {
  const names: string[] = [];
  step.lastIndex = 0;
  for (;;) {
    const match = step.exec(expression);
    if (match === null) return null;
    const [, bare, quoted, separator] = match;
    if (bare !== undefined && reserved.has(bare)) return null;
    names.push(bare ?? quoted ?? '');
    if (separator === '') return names;
  }
}

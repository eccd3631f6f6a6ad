/** The result of a plain path when an array is on the way: only JSONata itself knows the result then. */
export const arrayOnPath: unique symbol = Symbol('array on the path');

/**
 * A function with JSONata's own result for a plain dotted path (`body.paging.next`, names in backticks allowed), so
 * that selectors and templates need no round trip to another process. It returns {@link arrayOnPath} when the input or
 * a step before the last is an array. Null when the expression is more than such a path.
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

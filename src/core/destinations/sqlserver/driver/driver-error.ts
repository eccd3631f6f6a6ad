/**
 * The first of several server messages, by which they are classified. For a broken connection or a stopped statement it is the
 * error of tedious, with its code and causes.
 */
export function driverError(error: unknown): unknown {
  const first = firstOf(error);
  const original = innerOf(first, 'originalError');
  if (!(original instanceof Error)) return first;
  const info = innerOf(original, 'info');
  if (info === undefined) return original;
  return info instanceof Error ? info : first;
}

function firstOf(error: unknown): unknown {
  const preceding = innerOf(error, 'precedingErrors');
  return Array.isArray(preceding) && preceding.length > 0 ? preceding[0] : error;
}

const innerOf = (error: unknown, name: string): unknown =>
  error instanceof Error && name in error ? (error as unknown as Record<string, unknown>)[name] : undefined;

/** Certain, but not exact: counts strings as if they needed no escape and other scalars as one character. */
export function isSurelyLongerThan(value: unknown, max: number): boolean {
  const open = [value];
  let length = 0;
  while (open.length > 0 && length <= max) {
    const next = open.pop();
    if (typeof next !== 'object' || next === null) length += typeof next === 'string' ? next.length + 2 : 1;
    else if (Array.isArray(next)) {
      length += Math.max(2, next.length + 1);
      if (length + next.length > max) return true;
      for (const item of next) open.push(item);
    } else {
      length += 2;
      for (const name in next) {
        const child: unknown = next[name as keyof typeof next];
        if (child === undefined) continue;
        length += name.length + 4;
        if (length > max) return true;
        open.push(child);
      }
    }
  }
  return length > max;
}

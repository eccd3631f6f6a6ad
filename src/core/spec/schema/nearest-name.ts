/** The known name closest to a mistyped one, at most two edits away; `null` if none is that close. */
export function nearestName(mistyped: string, known: readonly string[]): string | null {
  if (mistyped.length > 40) return null;
  const measured = known.map((name) => ({ name, edits: editDistance(mistyped.toLowerCase(), name.toLowerCase()) }));
  const [best] = measured.sort((a, b) => a.edits - b.edits);
  return best && best.edits <= 2 && best.edits < mistyped.length ? best.name : null;
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [i, letter] of a.split('').entries()) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j++) {
      const replaced = (row[j] ?? 0) + (letter === b[j] ? 0 : 1);
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

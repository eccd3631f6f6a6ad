export interface DiffLine {
  readonly kind: 'same' | 'removed' | 'added';
  readonly text: string;
}

/** Beyond this, texts count as entirely different: the work grows with the square of edits. */
const editsMax = 500;

/** A shortest sequence of edits (Myers, 1986). */
export function diffLines(first: string, second: string): readonly DiffLine[] {
  const [a, b] = [first.split('\n'), second.split('\n')];
  const traces = forward(a, b);
  if (traces === null) return [...a.map(line('removed')), ...b.map(line('added'))];
  return backward(a, b, traces);
}

const line =
  (kind: DiffLine['kind']) =>
  (text: string): DiffLine => ({ kind, text });

/** The furthest points for each number of edits, by diagonal; `null` if there are too many edits. */
function forward(a: readonly string[], b: readonly string[]): readonly ReadonlyMap<number, number>[] | null {
  const furthest = new Map<number, number>([[1, 0]]);
  const traces: Map<number, number>[] = [];
  for (let edits = 0; edits <= Math.min(a.length + b.length, editsMax); edits += 1) {
    traces.push(new Map(furthest));
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      let x = startOf(furthest, diagonal, edits);
      while (x < a.length && x - diagonal < b.length && a[x] === b[x - diagonal]) x += 1;
      furthest.set(diagonal, x);
      if (x >= a.length && x - diagonal >= b.length) return traces;
    }
  }
  return null;
}

const isDown = (furthest: ReadonlyMap<number, number>, diagonal: number, edits: number): boolean =>
  diagonal === -edits ||
  (diagonal !== edits && (furthest.get(diagonal - 1) ?? -1) < (furthest.get(diagonal + 1) ?? -1));

const startOf = (furthest: ReadonlyMap<number, number>, diagonal: number, edits: number): number =>
  isDown(furthest, diagonal, edits) ? (furthest.get(diagonal + 1) ?? 0) : (furthest.get(diagonal - 1) ?? 0) + 1;

function backward(
  a: readonly string[],
  b: readonly string[],
  traces: readonly ReadonlyMap<number, number>[],
): readonly DiffLine[] {
  const lines: DiffLine[] = [];
  let [x, y] = [a.length, b.length];
  for (let edits = traces.length - 1; edits >= 0; edits -= 1) {
    const furthest = traces[edits] ?? new Map<number, number>();
    const diagonal = x - y;
    const before = isDown(furthest, diagonal, edits) ? diagonal + 1 : diagonal - 1;
    const fromX = edits === 0 ? 0 : (furthest.get(before) ?? 0);
    const fromY = edits === 0 ? 0 : fromX - before;
    while (x > fromX && y > fromY) {
      x -= 1;
      y -= 1;
      lines.push({ kind: 'same', text: a[x] ?? '' });
    }
    if (edits === 0) break;
    if (x > fromX) lines.push({ kind: 'removed', text: a[fromX] ?? '' });
    else lines.push({ kind: 'added', text: b[fromY] ?? '' });
    [x, y] = [fromX, fromY];
  }
  return lines.toReversed();
}

export type ShownLine = DiffLine | { readonly kind: 'gap'; readonly lines: number };

export function nearChanges(lines: readonly DiffLine[], around = 4): readonly ShownLine[] {
  const near = new Set<number>();
  for (const [index, { kind }] of lines.entries()) {
    if (kind === 'same') continue;
    for (let at = index - around; at <= index + around; at += 1) near.add(at);
  }
  const shown: ShownLine[] = [];
  for (const [index, one] of lines.entries()) {
    const last = shown.at(-1);
    if (near.has(index)) shown.push(one);
    else if (last?.kind === 'gap') shown[shown.length - 1] = { kind: 'gap', lines: last.lines + 1 };
    else shown.push({ kind: 'gap', lines: 1 });
  }
  return shown;
}

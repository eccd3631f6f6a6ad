/** Lists whose first name is the same: all of them are compared, so there may only be a few. */
const alikeMax = 8;
/** First names that are kept: an object of the records of one source has one, hardly ever more. */
const keptMax = 500;
/** Longer lists hardly come twice: their names are data. */
const namesMax = 100;

interface Known<Verdict> {
  readonly names: readonly string[];
  readonly verdict: Verdict;
}

/**
 * `judge` of a list of property names, asked once for each list: the objects of an API's records have the same names in
 * the same order, and comparing two lists costs less than looking at each name.
 */
export function byNames<Verdict>(judge: (names: readonly string[]) => Verdict): (names: readonly string[]) => Verdict {
  const known = new Map<string, Known<Verdict>[]>();
  return (names) => {
    const [first = ''] = names;
    const alike = known.get(first) ?? [];
    for (const before of alike) if (areEqual(before.names, names)) return before.verdict;
    const verdict = judge(names);
    if (names.length > namesMax) return verdict;
    if (known.size >= keptMax) known.clear();
    known.set(first, [{ names, verdict }, ...alike.slice(0, alikeMax - 1)]);
    return verdict;
  };
}

function areEqual(left: readonly string[], right: readonly string[]): boolean {
  if (left.length !== right.length) return false;
  for (let index = 0; index < left.length; index += 1) if (left[index] !== right[index]) return false;
  return true;
}

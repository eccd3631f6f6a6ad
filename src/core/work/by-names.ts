/** Lists with the same first name; all of them are compared, so there may only be a few. */
const alikeMax = 8;
/**
 * First names kept; the objects of one source hardly have more than one. At the limit all are dropped: an LRU order
 * would cost time for every object of a record.
 */
const keptMax = 500;
/** Longest list of names kept; longer ones are data and hardly recur. */
const namesMax = 100;
/** Characters of a list's names together, because the writer of the records names their fields. */
const charactersMax = 4000;

interface Known<Verdict> {
  readonly names: readonly string[];
  readonly verdict: Verdict;
}

/**
 * Calls `classify` once per list of property names and remembers the verdict. Objects of an API's records have the same
 * names in the same order; comparing these is cheaper than examining or listing them. Only for data objects, which
 * inherit no names.
 */
export function byNames<Verdict>(classify: (names: readonly string[]) => Verdict): (object: object) => Verdict {
  const known = new Map<string, Known<Verdict>[]>();
  return (object) => {
    const first = firstName(object);
    const alike = known.get(first) ?? [];
    const [latest] = alike;
    if (latest !== undefined && hasNames(object, latest.names)) return latest.verdict;
    const names = Object.keys(object);
    for (const before of alike) if (areEqual(before.names, names)) return before.verdict;
    const verdict = classify(names);
    if (names.length > namesMax || names.join('').length > charactersMax) return verdict;
    if (known.size >= keptMax) known.clear();
    known.set(first, [{ names, verdict }, ...alike.slice(0, alikeMax - 1)]);
    return verdict;
  };
}

function firstName(object: object): string {
  for (const name in object) return name;
  return '';
}

function areEqual(left: readonly string[], right: readonly string[]): boolean {
  if (left.length !== right.length) return false;
  for (let index = 0; index < left.length; index += 1) if (left[index] !== right[index]) return false;
  return true;
}

function hasNames(object: object, names: readonly string[]): boolean {
  let index = 0;
  for (const name in object) {
    if (name !== names[index]) return false;
    index += 1;
  }
  return index === names.length;
}

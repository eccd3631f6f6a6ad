/** Lists whose first name is the same: all of them are compared, so there may only be a few. */
const alikeMax = 8;
/**
 * First names that are kept: an object of the records of one source has one, hardly ever more. Beyond that all are
 * forgotten: a cache in the order of use would pay for that order with every object of a record.
 */
const keptMax = 500;
/** The longest list of names that is kept: longer ones hardly come twice, as their names are data. */
const namesMax = 100;
/** Characters of a list's names together: whoever writes the records names their fields. */
const charactersMax = 4000;

interface Known<Verdict> {
  readonly names: readonly string[];
  readonly verdict: Verdict;
}

/**
 * Calls `classify` once for each list of property names, and remembers the verdict. The objects of an API's records have
 * the same names in the same order. Comparing them costs less than looking at each, or than listing them. For objects of
 * data, which inherit no names.
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

/** Whether an object has these names, in this order and no others. */
function hasNames(object: object, names: readonly string[]): boolean {
  let index = 0;
  for (const name in object) {
    if (name !== names[index]) return false;
    index += 1;
  }
  return index === names.length;
}

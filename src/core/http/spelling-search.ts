/** `end` is exclusive. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Overlapping or touching places are merged. */
export type SpellingSearch = (text: string) => Span[];

const keyChars = 3;
/**
 * Characters of a part. A longer spelling is found part by part, so that a text with some of a long secret shows at most an
 * incomplete part.
 */
export const partCharsMax = 64;
/** One for each value of {@link keyOf}. */
const keys = 65_536;

/**
 * Each spelling has at least {@link keyChars} characters. The time grows with the text alone, however many or similar the
 * spellings are. No pattern is made of secrets, and parts with the same beginning are found by binary search over their lengths.
 */
export function createSpellingSearch(spellings: ReadonlySet<string>): SpellingSearch {
  if (spellings.size === 0) return () => [];
  const begins = new Uint8Array(keys);
  const byKey = new Map<number, Set<string>>();
  for (const part of [...spellings].flatMap(partsOf)) {
    const key = keyOf(part.charCodeAt(0), part.charCodeAt(1), part.charCodeAt(2));
    begins[key] = 1;
    const alike = byKey.get(key);
    if (alike) alike.add(part);
    else byKey.set(key, new Set([part]));
  }
  const groups = new Map([...byKey].map(([key, parts]) => [key, groupOf(parts)]));
  return (text) => {
    const spans: { start: number; end: number }[] = [];
    let found = 0;
    let [first, second] = [text.charCodeAt(0), text.charCodeAt(1)];
    for (let at = 0; at <= text.length - keyChars; at += 1) {
      const third = text.charCodeAt(at + 2);
      const key = keyOf(first, second, third);
      const group = begins[key] === 1 ? groups.get(key) : undefined;
      if (group) {
        const end = at + longestAt(text, at, group);
        if (end > found) {
          const last = spans.at(-1);
          if (last && at <= found) last.end = end;
          else spans.push({ start: at, end });
          found = end;
        }
      }
      first = second;
      second = third;
    }
    return spans;
  };
}

const keyOf = (first: number, second: number, third: number): number =>
  (first ^ (second << 5) ^ (third << 10)) & (keys - 1);

/** The last two parts overlap if the length is not a multiple of theirs. */
function partsOf(spelling: string): readonly string[] {
  if (spelling.length <= partCharsMax) return [spelling];
  const count = Math.ceil(spelling.length / partCharsMax);
  return Array.from({ length: count }, (_, nth) => {
    const start = Math.min(nth * partCharsMax, spelling.length - partCharsMax);
    return spelling.slice(start, start + partCharsMax);
  });
}

interface Group {
  /** Ascending. */
  readonly lengths: readonly number[];
  /** For each beginning that {@link longestAt} may look up: the length of the longest part in it, or 0. */
  readonly within: ReadonlyMap<string, number>;
}

function groupOf(parts: ReadonlySet<string>): Group {
  const lengths = [...new Set([...parts].map(({ length }) => length))].toSorted((one, other) => one - other);
  const within = new Map<string, number>();
  for (const part of parts) {
    halve(lengths, (length) => {
      if (length > part.length) return false;
      const begin = part.slice(0, length);
      if (!within.has(begin)) {
        within.set(begin, lengths.findLast((one) => one <= length && parts.has(begin.slice(0, one))) ?? 0);
      }
      return true;
    });
  }
  return { lengths, within };
}

/** 0 if no part begins at `at`. */
function longestAt(text: string, at: number, { lengths, within }: Group): number {
  let longest = 0;
  halve(lengths, (length) => {
    const known = within.get(text.slice(at, at + length));
    longest = known ?? longest;
    return known !== undefined;
  });
  return longest;
}

/** The longer half stays when `fits` is true of the middle length. */
function halve(lengths: readonly number[], fits: (length: number) => boolean): void {
  let [low, high] = [0, lengths.length - 1];
  while (low <= high) {
    const middle = (low + high) >> 1;
    if (fits(lengths[middle] ?? 0)) low = middle + 1;
    else high = middle - 1;
  }
}

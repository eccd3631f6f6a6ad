/** A place in a text, from `start` up to but not including `end`. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Finds where any of some texts stands in another; places that overlap or touch may come as one. */
export type SpellingSearch = (text: string) => Span[];

/** Characters by which a spelling is looked up. */
const keyChars = 3;
/** Characters by which one is found: a text that has so many of a secret has the secret, or a part that must not be shown. */
const headChars = 64;
/** The number of keys, one for each value of {@link keyOf}. */
const keys = 65_536;

/**
 * A search for `spellings`, each of at least {@link keyChars} characters. It goes over a text once and looks closer only
 * where three characters are those of a spelling's beginning. Its time grows with the text alone: no pattern is made of
 * secrets, and what is found is not compared again.
 */
export function createSpellingSearch(spellings: ReadonlySet<string>): SpellingSearch {
  if (spellings.size === 0) return () => [];
  const begins = new Uint8Array(keys);
  const byKey = new Map<number, Spelling[]>();
  for (const text of spellings) {
    const key = keyOf(text.charCodeAt(0), text.charCodeAt(1), text.charCodeAt(2));
    begins[key] = 1;
    byKey.set(key, [...(byKey.get(key) ?? []), { text, head: text.slice(0, headChars) }]);
  }
  return (text) => {
    const spans: Span[] = [];
    let found = 0;
    let [first, second] = [text.charCodeAt(0), text.charCodeAt(1)];
    for (let at = 0; at <= text.length - keyChars; at += 1) {
      const third = text.charCodeAt(at + 2);
      const key = keyOf(first, second, third);
      if (begins[key] === 1) {
        const end = longestAt(text, at, { spellings: byKey.get(key) ?? [], found });
        if (end > found) {
          spans.push({ start: at, end });
          found = end;
        }
      }
      first = second;
      second = third;
    }
    return spans;
  };
}

interface Spelling {
  readonly text: string;
  readonly head: string;
}

const keyOf = (first: number, second: number, third: number): number =>
  (first ^ (second << 5) ^ (third << 10)) & (keys - 1);

/**
 * Where the longest spelling ends that begins at `at`; 0: none does. Of one that begins within what was found already
 * (before `found`) only its head and what is behind that are compared: where a secret repeats itself, all of it would be at
 * each character.
 */
function longestAt(
  text: string,
  at: number,
  { spellings, found }: { readonly spellings: readonly Spelling[]; readonly found: number },
): number {
  let end = 0;
  for (const { text: spelling, head } of spellings) {
    if (at + spelling.length <= end || !text.startsWith(head, at)) continue;
    const known = Math.max(headChars, found - at);
    const isWhole = text.startsWith(spelling.slice(known), at + known);
    end = Math.max(end, at + (isWhole ? spelling : head).length);
  }
  return Math.min(end, text.length);
}

/**
 * The number of characters that jsonata's parser works on; Infinity if it cannot be determined. It parses the left side
 * of each `??` and `?:` twice: twenty nested ones, two lines of text, take seconds, and thirty never end.
 */
export function parseEffort(text: string): number {
  const groups: Group[] = [];
  let group: Group = { done: 0, operand: 0 };
  const end = (factor: number): void => {
    group.done += factor * group.operand;
    group.operand = 0;
  };
  let before = '';
  let at = 0;
  for (;;) {
    tokens.lastIndex = at;
    const token = tokens.exec(text)?.[0];
    if (token === undefined) break;
    at += token.length;
    if (openings.has(token) || (token === '/' && text[at] === '*')) return Number.POSITIVE_INFINITY;
    if (token === '/' && words.has(before)) return Number.POSITIVE_INFINITY;
    if (token === '/' && noOperand.test(before)) at = endOfPattern(text, at);
    else if (token === '??' || token === '?:') end(2);
    else if ('([{'.includes(token)) {
      groups.push(group);
      group = { done: 0, operand: 1 };
    } else if (')]}'.includes(token)) {
      const { done, operand } = group;
      group = groups.pop() ?? { done: 0, operand: 0 };
      group.operand += done + operand;
    } else if (separators.has(token)) end(1);
    else group.operand += token.length;
    if (token.trim() !== '' && !token.startsWith('/*')) before = token;
  }
  return [...groups, group].reduce((sum, { done, operand }) => sum + done + operand, 0);
}

interface Group {
  /** The work up to the last separator: nothing before it is copied any more. */
  done: number;
  /** Work that a `??` would copy. */
  operand: number;
}

const separators: ReadonlySet<string> = new Set([',', ';', ':', '?', ':=']);

/** A lone one begins something that never ends: searching the end for each takes quadratic time. */
const openings: ReadonlySet<string> = new Set(['"', "'", '`']);

/** Comments, texts, names in backticks, words, the operators that matter here, any other character. */
const tokens = /\/\*[\s\S]*?\*\/|"(?:[^"\\]|\\[\s\S])*"|'(?:[^'\\]|\\[\s\S])*'|`[^`]*`|[\w$]+|\s+|\?\?|\?:|:=|[\s\S]/y;

/** Operators, or fields of that name. */
const words: ReadonlySet<string> = new Set(['and', 'or', 'in']);

/** A `/` after these cannot divide: it begins a pattern. */
const noOperand = /^(?![\w$"'`)\]}])/;

/** The position after the pattern that begins here; a slash within brackets does not end it. */
function endOfPattern(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const character = text.charAt(at);
    if (character === '/' && depth === 0 && !isEscaped(text, at)) return at + 1;
    if (text.charAt(at - 1) === '\\') continue;
    if ('([{'.includes(character)) depth += 1;
    if (')]}'.includes(character)) depth -= 1;
  }
  return text.length;
}

/** An even number of backslashes escape each other. */
function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text[first - 1] === '\\') first -= 1;
  return (at - first) % 2 === 1;
}

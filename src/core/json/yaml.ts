import {
  Composer,
  type CST,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Node,
  type Pair,
  Parser,
  visit,
} from 'yaml';
import { AppError, type Issue } from '../errors.ts';
import { jsonLimits } from './json-limits.ts';

/** Both from 1. */
interface Place {
  readonly line: number;
  readonly column: number;
}

export interface YamlDocument {
  readonly value: unknown;
  /**
   * Where a dotted path is written, or else its deepest part that exists. `null` if a path of several steps matches
   * nothing.
   */
  placeOf(path: string): Place | null;
}

/** The text is not YAML; the message says why and never quotes the text. */
export class YamlSyntaxError extends Error {
  override readonly name = 'YamlSyntaxError';
}

const { depthMax } = jsonLimits;
/** The parser has one or two entries per level, and a few for the document and the current token. */
const stackMax = 2 * depthMax + 4;
const aliasesMax = 100;

interface Limits {
  /** JSON values, once aliases are replaced. */
  readonly nodesMax: number;
  /** A document of a hundred resources has some 50,000, white space included, read in a quarter of a second. */
  readonly tokensMax: number;
  /** All texts together, once aliases are replaced. */
  readonly charactersMax: number;
}

const limitsOf = (times: number): Limits => ({
  nodesMax: jsonLimits.nodesMax * times,
  tokensMax: 100_000 * times,
  charactersMax: 1_048_576 * times,
});

/**
 * Reads one YAML 1.2 document of the core schema: dates and `yes` are texts, `0o14` is 12. Anchors are allowed, with at
 * most 100 aliases. Tags, merge keys, duplicate keys, and keys that are lists or objects are refused.
 *
 * @param options `times` multiplies the usual limits, for files of an author.
 * @throws {@link YamlSyntaxError}, and a validation error with the place of what is refused.
 */
export function readYaml(text: string, { times = 1 }: { readonly times?: number } = {}): YamlDocument {
  const lines = new LineCounter();
  const limits = limitsOf(times);
  const document = compose(text, lines, limits);
  const targets = targetsOf(document);
  const reader = createReader(targets, limits, (node) => placeAt(lines, node));
  const value = reader.valueOf(document.contents, [], 0);
  return { value, placeOf: (path) => placeIn({ document, targets }, path, (node) => placeAt(lines, node)) };
}

type Targets = ReadonlyMap<unknown, Node>;

/** The library would search the whole document for each alias. */
function targetsOf(document: Document.Parsed): Targets {
  const anchors = new Map<string, Node>();
  const targets = new Map<unknown, Node>();
  visit(document, {
    Node: (_, node) => {
      const target = isAlias(node) ? anchors.get(node.source) : undefined;
      if (target !== undefined) targets.set(node, target);
      if (!isAlias(node) && node.anchor !== undefined) anchors.set(node.anchor, node);
    },
  });
  return targets;
}

function compose(text: string, lines: LineCounter, limits: Limits): Document.Parsed {
  // The library's own check of unique keys compares each key with all others.
  const options = { schema: 'core', resolveKnownTags: false, uniqueKeys: false, prettyErrors: false } as const;
  const composer = new Composer({ ...options, lineCounter: lines });
  const [document, another] = composer.compose(tokensOf(text, lines, limits), true, text.length);
  if (document === undefined) throw new YamlSyntaxError('it has no document');
  if (another !== undefined) throw new YamlSyntaxError(`it has a second document (${where(lines, another.range[0])})`);
  const [mistake] = [...document.errors, ...document.warnings];
  if (mistake !== undefined) throw new YamlSyntaxError(`${wordsOf(mistake.code)} (${where(lines, mistake.pos[0])})`);
  return document;
}

/**
 * Refuses a text with too many tokens or levels on the way: each token takes microseconds, and the composer is
 * recursive.
 */
function tokensOf(text: string, lines: LineCounter, { tokensMax }: Limits): readonly CST.Token[] {
  const parser = new Parser(lines.addNewLine);
  lines.addNewLine(0);
  const tokens: CST.Token[] = [];
  let count = 0;
  for (const lexeme of new Lexer().lex(text)) {
    count += 1;
    if (count > tokensMax) throw tooMuch(`it has more than ${tokensMax} tokens`, parser, lines);
    tokens.push(...parser.next(lexeme));
    if (parser.stack.length > stackMax) throw tooMuch(`it is nested deeper than ${depthMax} levels`, parser, lines);
  }
  return [...tokens, ...parser.end()];
}

const tooMuch = (words: string, { offset }: Parser, lines: LineCounter): YamlSyntaxError =>
  new YamlSyntaxError(`${words} (${where(lines, offset)})`);

const words: Readonly<Record<string, string>> = {
  ALIAS_PROPS: 'an alias has a tag or an anchor',
  BAD_ALIAS: 'an anchor or an alias has a name that is not allowed',
  BAD_DQ_ESCAPE: 'a quoted text has an unknown escape sequence',
  BAD_INDENT: 'the indentation does not fit',
  BAD_SCALAR_START: 'a text that begins with this character needs quotes',
  BLOCK_AS_IMPLICIT_KEY: 'a list or an object is where a key should be',
  BLOCK_IN_FLOW: 'a block is inside brackets',
  MISSING_CHAR: 'a character is missing, such as a colon, a comma or a closing quote or bracket',
  MULTILINE_IMPLICIT_KEY: 'a key is longer than one line; a colon may be missing',
  TAB_AS_INDENT: 'a tab is used as indentation; use spaces',
  TAG_RESOLVE_FAILED: 'tags such as `!name` are not supported',
};

const wordsOf = (code: string): string => words[code] ?? 'something is unexpected here';

const where = (lines: LineCounter, offset: number): string => {
  const { line, col } = lines.linePos(offset);
  return `line ${line} column ${col}`;
};

/** Only nodes that were read from text have a range. */
function placeAt(lines: LineCounter, node: unknown): Place {
  const range: unknown = typeof node === 'object' && node !== null ? Reflect.get(node, 'range') : null;
  const { line, col } = lines.linePos(Array.isArray(range) ? Number(range[0]) : 0);
  return { line, column: col };
}

type PlaceOfNode = (node: unknown) => Place;
type Path = readonly (string | number)[];

/** Turns nodes into values and counts what aliases repeat, so a small text cannot become a large value. */
function createReader(targets: Targets, { nodesMax, charactersMax }: Limits, placeOf: PlaceOfNode) {
  const used = { nodes: 0, aliases: 0, characters: 0 };
  const refuse = (path: Path, node: unknown, message: string, code: Issue['code'] = 'schema'): never => {
    const issue = { code, path: path.join('.').slice(0, 200), message, ...placeOf(node) };
    throw new AppError('validation', 'The body is not valid.', { issues: [issue] });
  };

  function valueOf(node: unknown, path: Path, depth: number): unknown {
    used.nodes += 1;
    if (used.nodes > nodesMax) refuse(path, node, `the document has more than ${nodesMax} values`);
    if (depth > depthMax) refuse(path, node, `is nested deeper than ${depthMax} levels`);
    if (isAlias(node)) return valueOf(anchorOf(node, path), path, depth);
    if (isSeq(node)) return node.items.map((item, index) => valueOf(item, [...path, index], depth + 1));
    if (isMap(node)) return objectOf(node.items, path, depth);
    return isScalar(node) ? scalarOf(node, path) : null;
  }

  /** The depth limit ends an alias inside its own anchor. */
  function anchorOf(alias: Node, path: Path): Node {
    used.aliases += 1;
    if (used.aliases > aliasesMax) refuse(path, alias, `the document has more than ${aliasesMax} aliases`);
    return targets.get(alias) ?? refuse(path, alias, 'the alias has no anchor before it');
  }

  function scalarOf({ value, ...node }: { readonly value: unknown }, path: Path): unknown {
    if (typeof value === 'string') used.characters += value.length;
    if (used.characters > charactersMax) refuse(path, node, `the document has more than ${charactersMax} characters`);
    return value;
  }

  function objectOf(pairs: readonly Pair[], path: Path, depth: number): Readonly<Record<string, unknown>> {
    const seen = new Set<string>();
    const entries = pairs.map(({ key, value }): [string, unknown] => {
      const name = nameOf(key, path);
      if (seen.has(name)) refuse([...path, name], key, 'the key comes twice in this object', 'duplicate_key');
      seen.add(name);
      return [name, valueOf(value, [...path, name], depth + 1)];
    });
    return Object.fromEntries(entries);
  }

  function nameOf(key: unknown, path: Path): string {
    if (!isScalar(key) || key.value === null) {
      return refuse(path, key, 'a key must be a text, not a list, an object, an alias or nothing');
    }
    if (key.type === 'PLAIN' && key.source === '<<') {
      refuse(path, key, 'merge keys (`<<`) are not supported: write the fields out');
    }
    return String(scalarOf(key, path));
  }

  return { valueOf };
}

interface Anchored {
  readonly document: Document.Parsed;
  readonly targets: Targets;
}

function placeIn({ document, targets }: Anchored, path: string, placeOf: PlaceOfNode): Place | null {
  let node: unknown = document.contents;
  let place = placeOf(node);
  let steps = path === '' ? [] : path.split('.');
  while (steps.length > 0) {
    const found = childOf(isAlias(node) ? targets.get(node) : node, steps);
    if (found === null) return steps.length === 1 || node !== document.contents ? place : null;
    node = found.node;
    place = placeOf(found.at);
    steps = steps.slice(found.steps);
  }
  return place;
}

interface Child {
  readonly node: unknown;
  readonly at: unknown;
  readonly steps: number;
}

/** The child at the first steps of a path; a key with dots takes several of them. */
function childOf(node: unknown, steps: readonly string[]): Child | null {
  if (isSeq(node)) {
    const item = node.items[Number(steps[0])];
    return item === undefined ? null : { node: item, at: item, steps: 1 };
  }
  if (!isMap(node)) return null;
  for (let count = 1; count <= steps.length; count += 1) {
    const name = steps.slice(0, count).join('.');
    const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === name);
    if (pair !== undefined) return { node: pair.value, at: pair.key, steps: count };
  }
  return null;
}

import { seededFractions } from '../random/seeded.ts';

/** Chance that can be repeated: numbers from 0 up to 1. */
type Chance = () => number;

/** Chances that a seed decides. */
export const chanceOf: (seed: number) => Chance = seededFractions;

const oneOf = <Item>(chance: Chance, items: readonly [Item, ...Item[]]): Item =>
  items[Math.floor(chance() * items.length)] ?? items[0];

const times = <Item>(chance: Chance, most: number, make: () => Item): Item[] =>
  Array.from({ length: Math.floor(chance() * (most + 1)) }, make);

/** Texts, numbers and others that expressions treat in ways of their own. */
const scalars: readonly [unknown, ...unknown[]] = [
  ...([null, true, false, 0, -0, 1, -1, 2, 0.5, 1.5, 2.5, -2.5, 3, 10, 1e21, 1e-7, 0.1 + 0.2, 2 ** 53, 1e308] as const),
  ...[
    '',
    ' ',
    'x',
    'y',
    'abc',
    ' a  b ',
    'a,b,c',
    '0',
    '-1.5',
    '1e3',
    '0x1F',
    '0b1',
    '12abc',
    'true',
    'null',
    'undefined',
  ],
  ...[
    'Ünïcode',
    '😀 smile',
    '👩‍👩‍👧',
    'ß',
    'İ',
    '\ud83d',
    'tab\tnew\nline',
    '100%',
    'a%20b',
    'a b&c=d',
    '$1',
    '[',
    'a',
    'b',
  ],
  ...[
    '2024-02-29T12:30:00.000Z',
    '2024-02-29',
    '2024-02-29T12:30:00',
    '2024-13-01',
    '2024-02-29T12:30:00+02:00',
    '1999',
  ],
];

const names = ['a', 'b', 'c', 'd', 'odd name', 'length'] as const;

/** A record whose fields the generated expressions name: lists in lists, empty ones, lists of one, missing fields. */
export function generateRecord(chance: Chance): Readonly<Record<string, unknown>> {
  return generateObject(chance, 3);
}

function generateObject(chance: Chance, depth: number): Readonly<Record<string, unknown>> {
  const present = names.filter(() => chance() < 0.7);
  return Object.fromEntries(present.map((name) => [name, generateValue(chance, depth - 1)]));
}

function generateValue(chance: Chance, depth: number): unknown {
  const kind = depth <= 0 ? 0 : chance();
  if (kind < 0.5) return oneOf(chance, scalars);
  if (kind < 0.72) return generateObject(chance, depth);
  if (kind < 0.8) return times(chance, 3, () => Math.floor(chance() * 5));
  if (kind < 0.86) return times(chance, 3, () => oneOf(chance, ['x', 'y', 'abc', '']));
  return times(chance, 3, () => generateValue(chance, depth - 1));
}

const functions: readonly [readonly [string, number, number], ...(readonly [string, number, number])[]] = [
  ['string', 0, 2],
  ...(['uppercase', 'lowercase', 'trim', 'length', 'base64encode', 'base64decode'] as const).map(
    (name) => [name, 0, 1] as const,
  ),
  ...(['encodeUrl', 'encodeUrlComponent', 'decodeUrl', 'decodeUrlComponent'] as const).map(
    (name) => [name, 0, 1] as const,
  ),
  ...(['substringBefore', 'substringAfter', 'contains', 'lookup', 'power', 'append'] as const).map(
    (name) => [name, 1, 2] as const,
  ),
  ...(['number', 'abs', 'floor', 'ceil', 'sqrt', 'boolean', 'not', 'keys', 'spread'] as const).map(
    (name) => [name, 0, 1] as const,
  ),
  ...(['sum', 'count', 'max', 'min', 'average', 'exists', 'type', 'distinct', 'reverse', 'merge'] as const).map(
    (name) => [name, 1, 1] as const,
  ),
  ['substring', 1, 3],
  ['pad', 1, 3],
  ['split', 1, 3],
  ['join', 1, 2],
  ['replace', 2, 4],
  ['round', 0, 2],
  ['toMillis', 0, 1],
  ['fromMillis', 0, 1],
  ['now', 0, 0],
  ['millis', 0, 0],
  ['assert', 1, 2],
  ['string', 1, 1],
  ['number', 1, 1],
];

const operators = ['+', '-', '*', '/', '%', '=', '!=', '<', '<=', '>', '>=', '&', 'and', 'or', 'in', '&', '='] as const;

/** What an expression may refer to besides fields. */
const references = [
  '$',
  '$$',
  '$lookups.t',
  '$params.p',
  '$plan',
  '$plan.a',
  'lookups.t',
  '$each',
  '$x',
  '$y',
  '$none',
] as const;

const literals = [
  ...[
    '0',
    '1',
    '-1',
    '2',
    '1.5',
    '0.1',
    '1e3',
    '100',
    '"x"',
    '""',
    '"a"',
    '"b"',
    '","',
    '" "',
    '"abc"',
    '"Ü😀"',
    "'y'",
  ],
  ...['true', 'false', 'null', '"2024-02-29T12:30:00Z"', '"-12.50"'],
] as const;

/** An expression of the subset that is compiled, well or ill typed. */
export function generateExpression(chance: Chance, depth = 3): string {
  const part = (): string => generateExpression(chance, depth - 1);
  if (depth <= 0) return generateLeaf(chance);
  const kind = Math.floor(chance() * 14);
  switch (kind) {
    case 0:
    case 1:
      return generatePath(chance, depth);
    case 2:
    case 3:
    case 4:
      return generateCall(chance, depth);
    case 5:
    case 6:
      return `(${part()} ${oneOf(chance, operators)} ${part()})`;
    case 7:
      return generateObjectConstructor(chance, depth);
    case 8:
      return `[${times(chance, 3, () => (chance() < 0.15 ? `${part()}..${part()}` : part())).join(', ')}]`;
    case 9:
      return chance() < 0.7 ? `(${part()} ? ${part()} : ${part()})` : `(${part()} ? ${part()})`;
    case 10:
      return `(${generatePath(chance, 1)} ${oneOf(chance, ['??', '?:'])} ${part()})`;
    case 11:
      return `($x := ${part()}; ${chance() < 0.5 ? `$y := ${part()}; ` : ''}${part()})`;
    case 12:
      return chance() < 0.3
        ? `-${generateLeaf(chance)}`
        : `${generatePath(chance, depth - 1)} ~> ${generateApplied(chance, depth)}`;
    default:
      return generateLeaf(chance);
  }
}

function generateLeaf(chance: Chance): string {
  const kind = chance();
  if (kind < 0.35) return oneOf(chance, literals as unknown as readonly [string]);
  return kind < 0.55 ? oneOf(chance, references) : generateName(chance);
}

const generateName = (chance: Chance): string => {
  const name = oneOf(chance, [...names, 'missing'] as unknown as readonly [string]);
  return name === 'odd name' ? '`odd name`' : name;
};

function generatePath(chance: Chance, depth: number): string {
  const begin = chance() < 0.85 ? generateName(chance) : oneOf(chance, references);
  const steps = times(chance, 2, () => {
    const kind = chance();
    if (kind < 0.7 || depth <= 1) return generateName(chance);
    if (kind < 0.8) return `(${generateExpression(chance, depth - 2)})`;
    if (kind < 0.9) return generateObjectConstructor(chance, depth - 1);
    return kind < 0.95
      ? `$${oneOf(chance, ['string', 'uppercase', 'number', 'exists', 'keys', 'type'])}(${chance() < 0.5 ? '$' : ''})`
      : `[${generateName(chance)}]`;
  });
  return [begin, ...steps].map((step) => step + generateFilters(chance, depth)).join('.');
}

function generateFilters(chance: Chance, depth: number): string {
  const kind = chance();
  if (kind < 0.75) return '';
  if (kind < 0.82) return `[${oneOf(chance, ['0', '1', '-1', '1.5', '5'])}]`;
  if (kind < 0.87) return '[]';
  return depth <= 1
    ? `[${generateName(chance)} = ${oneOf(chance, ['1', '"x"', 'b'])}]`
    : `[${generateExpression(chance, depth - 2)}]`;
}

function generateCall(chance: Chance, depth: number): string {
  const [name, least, most] = oneOf(chance, functions);
  const count = chance() < 0.03 ? most + 1 : least + Math.floor(chance() * (most - least + 1));
  return `$${name}(${Array.from({ length: count }, () => generateExpression(chance, depth - 1)).join(', ')})`;
}

function generateApplied(chance: Chance, depth: number): string {
  const [name] = oneOf(chance, functions);
  return chance() < 0.5
    ? `$${name}`
    : `$${name}(${times(chance, 1, () => generateExpression(chance, depth - 2)).join(', ')})`;
}

function generateObjectConstructor(chance: Chance, depth: number): string {
  const keys = ['"a"', '"b"', '"c"', '"2"', '"1"', '"a"', 'a', '"x" & b'] as const;
  const pairs = times(
    chance,
    3,
    () =>
      `${chance() < 0.9 ? oneOf(chance, ['"k"', '"l"', '"m"', '"10"', '"9"']) : oneOf(chance, keys)}: ${generateExpression(chance, depth - 1)}`,
  );
  return `{${pairs.join(', ')}}`;
}
